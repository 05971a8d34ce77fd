"""Runs and judgments as they are given together, perhaps in each other's place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError, InputError, kept_warnings, quoted, warn
from cranfield.collection.files.layouts import lines_with_text
from cranfield.collection.files.many_runs import Runs, files_of, named_file, read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.keys import Codes
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.parquet import DamagedParquetError, parquet_names
from cranfield.sources.remote import is_url

ORDER = "runs come first: cf.evaluate(runs, qrels, measures), cf.judge(runs, qrels)"

RUN, QRELS = "a run", "judgments"


def read_both(
    runs: Any,
    qrels: Any,
    *,
    subtopics: bool | None = None,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    duplicates: str = "error",
    bad_runs: str = "error",
) -> tuple[Runs, Qrels]:
    """Read judgments, and runs when they are asked for, by what columns are called in either."""
    runs, qrels = _in_order(runs, qrels)
    of_qrels: Any = None
    of_runs: Any = columns
    if columns is not None:
        from cranfield.collection.files.named_columns import shared

        of_qrels, of_runs = shared(columns, system)
    judgments = read_qrels(qrels, subtopics=subtopics, columns=of_qrels, duplicates=duplicates)
    if columns is not None:
        # What the judgments did not have, the runs must.
        of_runs.loose &= of_qrels.met
    many = read_runs(runs, system=system, columns=of_runs, bad_runs=bad_runs, duplicates=duplicates)
    if not _is_read(runs) and not isinstance(qrels, Qrels):
        _check_values(many, judgments, runs, qrels)
    return many, judgments


def _in_order(runs: Any, qrels: Any) -> tuple[Any, Any]:
    """Put what is read already into its place."""
    if isinstance(runs, Qrels) and isinstance(qrels, Qrels):
        raise InputError(f"both are judgments; {ORDER}")
    if _is_read(runs) and _is_read(qrels):
        raise InputError(f"both are runs; {ORDER}")
    return (qrels, runs) if isinstance(runs, Qrels) or _is_read(qrels) else (runs, qrels)


def _is_read(data: Any) -> bool:
    """Tell whether this is a run, or several, that are read already."""
    inside = data.values() if isinstance(data, Mapping) else data
    several = isinstance(data, (list, tuple, dict)) and len(data) > 0
    return isinstance(data, (Run, Runs)) or (several and all(isinstance(x, Run) for x in inside))


@contextmanager
def telling_order(runs: Any, qrels: Any, order: str = ORDER) -> Iterator[None]:
    """Say of what cannot be read whether runs and judgments seem to be in each other's place."""
    try:
        yield
    except InputError as error:
        first, second = looks_like(runs), looks_like(qrels)
        if (first, second) == (QRELS, RUN):
            raise InputError(
                f"{_called(runs, 'the runs look')} like judgments and"
                f" {_called(qrels, 'the judgments look')} like a run; {order}"
            ) from None
        if second == RUN and (first != RUN or isinstance(qrels, (str, PathLike))):
            raise InputError(f"{error}; if that is a run, {order}") from None
        raise


def _called(data: Any, otherwise: str) -> str:
    one = data[0] if isinstance(data, (list, tuple)) else data
    return f"{quoted(fspath(one))} looks" if isinstance(one, (str, PathLike)) else otherwise


def looks_like(data: Any) -> str | None:
    """Tell from a glance whether something is a run or judgments; None where it may be either."""
    try:
        return _looks_like(data)
    except (CranfieldError, DamagedParquetError, OSError, ValueError, TypeError):
        return None


def _looks_like(data: Any) -> str | None:
    if isinstance(data, Qrels):
        return QRELS
    if _is_read(data):
        return RUN
    if isinstance(data, (str, PathLike)):
        return _file_looks_like(fspath(data))
    if isinstance(data, Mapping):
        return _mapping_looks_like(data)
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return _names_look_like(getattr(data, "column_names", None) or data.columns)
    if isinstance(data, Sequence) and len(data):
        first = data[0]
        if isinstance(first, Mapping):
            return _names_look_like(first)
        if isinstance(first, (str, PathLike)) or not isinstance(first, Sequence):
            return _looks_like(first)
        return RUN if len(first) == 3 and _is_fraction(first[2]) else None
    return None


def _names_look_like(names: Iterable[object]) -> str | None:
    from cranfield.collection.files.named_columns import QRELS as OF_QRELS
    from cranfield.collection.files.named_columns import RUN as OF_RUN
    from cranfield.sources.schemas import spelt

    names = list(names)
    ranked = any(column.named_in(names) for column in OF_RUN.columns[2:4])
    graded = bool(OF_QRELS.columns[2].named_in([n for n in names if spelt(n) != "score"]))
    return None if ranked == graded else RUN if ranked else QRELS


def _mapping_looks_like(data: Mapping[Any, Any]) -> str | None:
    for inside in data.values():
        if isinstance(inside, Mapping):
            for value in islice(inside.values(), 1000):
                if isinstance(value, Mapping) or _is_fraction(value):
                    return RUN
    return None


def _is_fraction(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and not float(value).is_integer()


def _file_looks_like(path: str) -> str | None:
    if path == "-" or path.startswith("irds:") or is_url(path):
        return None
    source = Source(next(iter(files_of(named_file(path)[1]))))
    form = FORMAT_OF_SUFFIX.get(source.suffix, "")
    if form == "parquet":
        return _names_look_like(parquet_names(source.mapped()))
    _, text = next(lines_with_text(next(source.chunks(1 << 16), b"")), (1, b""))
    line = text.decode(errors="replace")
    if form in {"json", "jsonl"}:
        from cranfield.sources.text import parsed_json

        return _looks_like(parsed_json(line if form == "jsonl" else source.read().decode(), path))
    if form and not any(character.isdigit() for character in line):
        return _names_look_like(line.split("\t" if form == "tsv" else ","))
    fields = len(line.split())
    return None if form == "csv" else {4: QRELS, 6: RUN}.get(fields)


def _check_values(many: Runs, judgments: Qrels, runs: Any, qrels: Any) -> None:
    """Refuse judgments that are clearly the scores of a run, beside runs that are judgments."""
    low, high = int(judgments.grades.min()), int(judgments.grades.max())
    few = len(judgments) <= _SMALL
    if not few and high - low < _LEVELS:
        return
    if _new_values(judgments.codes, judgments.grades) < _MOST_NEW:
        return
    if looks_like(qrels) == QRELS or looks_like(runs) == RUN or len(many) != 1:
        return
    try:
        with kept_warnings():
            run = many[0]
    except InputError:
        return
    scores = run.scores
    whole = bool((scores == np.rint(scores)).all()) and -4 <= scores.min() <= scores.max() <= 10
    if not whole or np.unique(scores).size > _LEVELS or _new_values(run.codes, scores) > _FEW_NEW:
        return
    # Nobody gives so many documents of a topic grades that are all different.
    least = _MANY[bool((scores == 0).any())]
    each = len(judgments) / len(judgments.topics)
    said = (
        f"the runs look like judgments (scores {scores.min():g} to {scores.max():g}, many the same)"
        f" and the judgments like a run (grades {low} to {high}, hardly any the same in a topic)"
    )
    if min(each, high - low) >= least:
        raise InputError(f"{said}; {ORDER}. Should they be in order, cf.read_qrels(qrels) says so")
    if min(each, len(run) / len(run.topics)) >= 3:
        warn(f"{said}; {ORDER}", stacklevel=4)


_LEVELS = 6
"""More grades than these are rare."""

_SMALL = 1000
"""Judgments that are looked at in any case."""

_MANY = {True: 10, False: 20}
"""Documents and grades of a topic that no judgments have; by whether some scores are 0."""

_MOST_NEW, _FEW_NEW = 0.9, 0.5


def _new_values(codes: Codes, values: NDArray[Any]) -> float:
    """Return the share of rows, but the first of each topic, whose value the topic has once."""
    topics = np.unique(codes).size
    if values.size == topics:
        return 0.0
    pairs = np.unique(np.rec.fromarrays([codes, values])).size
    return (pairs - topics) / (values.size - topics)
