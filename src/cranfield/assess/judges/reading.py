"""Label sets of judges, matched with people's judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import InputError, PolicyError, check_choice, check_whole, quoted
from cranfield.base.text import counted
from cranfield.collection.files.many_runs import files_of
from cranfield.collection.files.named_columns import QRELS, Called, called
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.files.system_tables import SystemTable
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.policies import DUPLICATES, FORMATS
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source, check_encoding
from cranfield.sources.columns import columns_of_file, fitted, is_frame, read_columns
from cranfield.sources.schemas import NAMED, optional, spelt
from cranfield.sources.values import GRADE_OR_NONE

_LABELS = replace(
    QRELS,
    kind="label set",
    called="labels",
    columns=(*QRELS.columns[:3], optional("result_status", GRADE_OR_NONE)),
    numbered=True,
    decisive=("status", "judge"),
)
_IDS = {spelt(name) for column in _LABELS.columns[:2] for name in column.names}


@dataclass(frozen=True, eq=False, repr=False)
class Judge:
    """What one judge said of documents; made by :func:`read_judges`.

    Attributes
    ----------
    name
        The judge's name.
    labels
        Its grades, as judgments.
    unparsed
        Answers without a grade: `result_status` is 0, or there is no `judgment`.
    cut
        Grades that were off the scale and are now at its nearer end.
    """

    name: str
    labels: Qrels
    unparsed: int = 0
    cut: int = 0

    def __repr__(self) -> str:
        more = f", {self.unparsed:,} unparsed" * bool(self.unparsed)
        more += f", {self.cut:,} cut" * bool(self.cut)
        return f"Judge({quoted(self.name)}: {counted(len(self.labels), 'label')}{more})"


def read_judges(
    data: Any,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    columns: Mapping[str, str] | Called | None = None,
    separator: str = "auto",
    duplicates: str = "error",
) -> tuple[Judge, ...]:
    """Read the labels of judges, such as large language models; no model is called.

    Parameters
    ----------
    data
        A path, a glob, a folder, or `"NAME=FILE"`; labels in memory, as
        :func:`cranfield.read_qrels` takes them; a mapping `{judge: labels}`; or a list of these.
        Files are TREC qrels, which submissions to LLMJudge are too, tables (CSV, TSV, Parquet), or
        JSON lines: the ids of topic and document, `judgment`, and `result_status` as of UMBRELA, a
        whole number, which is 0 where the answer of the model could not be parsed.
    format, encoding, columns, separator, duplicates
        As for :func:`cranfield.read_qrels`. An answer without a grade is counted as unparsed.

    Returns
    -------
    tuple of Judge
        In the order given; those of a folder by name. A judge of a file is called like it.

    Raises
    ------
    InputError
        Naming the file, the line and the reason, for labels that cannot be read: a grade that is
        no whole number, a document with two labels, a file without any label.
    PolicyError
        For two judges of one name, an unknown format, or no judge at all.

    Examples
    --------
    >>> answers = [
    ...     {"qid": "q1", "docid": "d1", "judgment": 2, "result_status": 1},
    ...     {"qid": "q1", "docid": "d2", "judgment": 0, "result_status": 0},
    ... ]
    >>> read_judges({"llm": answers})
    (Judge('llm': 1 label, 1 unparsed),)
    """
    check_choice("format", format, FORMATS)
    check_choice("duplicates", duplicates, DUPLICATES)
    check_encoding(encoding)
    asked = None if columns is None else called(columns, "qrels", None)
    options = {"separator": separator, "duplicates": duplicates}
    judges = tuple(_read(name, one, format, encoding, asked, options) for name, one in _items(data))
    if not judges:
        raise PolicyError("no judge was given")
    names = [one.name for one in judges]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PolicyError(f"two judges are called {quoted(twice)}; name them, as in NAME=FILE")
    return judges


def _items(data: Any) -> Iterator[tuple[str | None, Any]]:
    if isinstance(data, (str, PathLike)):
        path = fspath(data)
        name, sign, file = path.partition("=")
        # A name stands before the first sign, and is none where it looks like a folder.
        if sign and name and file and "/" not in name:
            yield name, file
        else:
            yield from ((None, file) for file in files_of(path))
    elif isinstance(data, (Judge, Qrels)) or is_frame(data):
        yield None, data
    elif isinstance(data, Mapping):
        if _is_labels(data):
            yield None, data
        else:
            yield from ((str(name), one) for name, one in data.items())
    elif isinstance(data, Iterable):
        listed = list(data)
        if listed and _is_row(listed[0]):
            yield None, listed
        else:
            for one in listed:
                yield from _items(one)
    else:
        raise InputError(f"{type(data).__name__} cannot be read as labels of judges")


def _is_labels(data: Mapping[Any, Any]) -> bool:
    """Tell `{topic: {document: grade}}` from `{judge: labels}`."""
    inner = next(iter(data.values()), None)
    return isinstance(inner, Mapping) and not any(
        isinstance(one, (Mapping, Qrels)) or is_frame(one) for one in inner.values()
    )


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        # Else a mapping of judges to labels.
        return not _IDS.isdisjoint(map(spelt, item))
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) == 3)


def _read(
    name: str | None, data: Any, form: str, encoding: str, asked: Called | None, options: Any
) -> Judge:
    if isinstance(data, (Judge, Qrels)):
        if asked is not None or encoding != "utf-8":
            kind = type(data).__name__
            raise PolicyError(f"columns and encoding are for labels not read yet, got {kind}")
        judge = data if isinstance(data, Judge) else Judge(name or "judge", data.flat())
        return judge if name is None else replace(judge, name=name)
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        name = name or source.stem
        named = form if form != "auto" else FORMAT_OF_SUFFIX.get(source.suffix, "trec")
        if named not in NAMED or source.path.startswith("irds:"):
            given: Any = {"format": form, "encoding": encoding, "columns": asked}
            return Judge(name, read_qrels(source.path, subtopics=False, **given, **options))
        columns = columns_of_file(source.in_encoding(encoding, named), _LABELS, named)
    elif encoding != "utf-8":
        raise PolicyError(f"encoding is for files of text, got {type(data).__name__}")
    else:
        columns = read_columns(data, _LABELS)
    called = {} if asked is None else asked.of(columns.names)
    table = fitted(columns.matched(_LABELS, called), _LABELS, columns.source, columns.lines)
    parsed = pl.col("grade").is_not_null() & pl.col("result_status").ne_missing(0)
    rows = table.frame.select(parsed.arg_true()).to_series().to_numpy()
    answers = table.frame.height
    if not rows.size:
        raise InputError(f"none of {counted(answers, 'answer')} has a grade", source=table.source)
    lines = None if table.lines is None else np.asarray(table.lines)[rows]
    table = replace(table, frame=table.frame[rows].drop("result_status"), lines=lines)
    labels = read_qrels(SystemTable(table, {}, ""), **options)
    return Judge(name or "judge", labels, unparsed=answers - rows.size)


GRADES = 101
"""Grades that a scale may have, which is from 0 to 100: each topic has a table of two of them."""


@dataclass(frozen=True)
class Scale:
    """The grades that may be given, from `low` to `high`."""

    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"

    @property
    def grades(self) -> list[int]:
        return list(range(self.low, self.high + 1))

    @property
    def cuts(self) -> list[str]:
        """The ways to cut the scale in two, such as `01|23`; none for a scale of two grades."""
        names = [str(grade) for grade in self.grades]
        if len(names) < 3:
            return []
        if max(map(len, names)) > 1:
            return [f"{low}|{high}" for low, high in pairwise(names)]
        return [f"{''.join(names[:k])}|{''.join(names[k:])}" for k in range(1, len(names))]


def read_scale(scale: Any) -> Scale:
    """Take `(0, 3)`, a range, or the text `0..3`."""
    wrong = f"a scale is its lowest and highest grade, such as 0..3, not {quoted(scale)}"
    if isinstance(scale, Scale):
        return scale
    if isinstance(scale, str):
        found = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", scale.strip(), re.ASCII)
        ends: Any = found and [int(one) for one in found.groups()]
    else:
        ends = [scale[0], scale[-1]] if isinstance(scale, (tuple, list, range)) and scale else None
    if ends is None:
        raise PolicyError(wrong)
    for one in ends:
        check_whole("a grade of a scale", one, 0)
    low, high = map(int, ends)
    if not low <= high:
        raise PolicyError(wrong)
    return Scale(low, high)


@dataclass(frozen=True, eq=False)
class Panel:
    """People and judges on one scale.

    human: the judgments of people; a grade below 0, which is judged and not relevant, is kept.
    judges: their labels.
    scale: the grades of all.
    notes: what was done to grades.
    """

    human: Qrels
    judges: tuple[Judge, ...]
    scale: Scale
    notes: tuple[str, ...]


def sampled_only(people: Qrels) -> Qrels:
    """Return the judged documents; in strata of a sample a grade below 0 is an unsampled one."""
    return people.restricted(people.grades >= 0) if "stratum" in people.columns else people


def panel_of(
    human: Any, judges: Any, scale: Any = None, cut: bool = False, *, few: bool = False
) -> Panel:
    """Read people and judges, and refuse a grade off the scale, or cut it.

    The scale goes by default from 0 to the highest grade that people gave; with `few` human
    judgments, and unless grades are cut, to the highest grade of people and judges.
    """
    wanted = None if scale is None else read_scale(scale)
    people = read_qrels(human, subtopics=False).flat()
    given = read_judges(judges)
    highest = [people.max_grade, 0]
    if few and not cut:
        highest += [one.labels.max_grade for one in given]
    known = Scale(0, max(highest)) if wanted is None else wanted
    if len(known) > GRADES:
        raise PolicyError(
            f"the scale {known} has {len(known):,} grades; at most {GRADES} are taken"
        )
    whose = "of the human judgments" if wanted is None else "that was declared"
    of_people = _on_scale(Judge("people", people), known, cut, whose, below=True)
    read = tuple(_on_scale(one, known, cut, whose) for one in given)
    below = int((sampled_only(people).grades < 0).sum())
    notes = [f"{counted(below, 'human grade')} below 0: counted as {known.low}"] if below else []
    for one in (of_people, *read):
        if one.cut:
            notes.append(f"{one.name}: {counted(one.cut, 'grade')} off the scale {known} cut")
    return Panel(of_people.labels, read, known, tuple(notes))


def _on_scale(judge: Judge, scale: Scale, cut: bool, whose: str, below: bool = False) -> Judge:
    """Refuse, or cut, what is off the scale; with `below`, a grade below 0 is not."""
    labels = judge.labels
    off = (labels.grades < scale.low) | (labels.grades > scale.high)
    if below:
        off &= labels.grades >= 0
    if not off.any():
        return judge
    if not cut:
        row = int(off.argmax())
        topic = labels.topics[int(labels.codes[row])]
        raise labels.origin.wrong(
            f"grade {labels.grades[row]} is off the scale {scale} {whose}; cut=True takes it for"
            " the nearest one, scale='...' names another scale",
            row,
            topic,
            labels.docs[row],
        )
    within = np.where(off, np.clip(labels.grades, scale.low, scale.high), labels.grades)
    return replace(judge, labels=replace(labels, grades=within), cut=judge.cut + int(off.sum()))


def with_highest_grade(judged: JudgedRuns, highest: int) -> JudgedRuns:
    """Return judged runs of which measures take this highest grade, whether given or not."""
    return replace(judged, judgments=replace(judged.judgments, max_grade=highest), views={})


@dataclass(frozen=True, eq=False)
class Beside:
    """The labels of one judge for what people judged, and how many fit nothing.

    tables: pairs by topic, grade of the people and grade of the judge; shape (topics, grades,
        grades).
    missing: pairs that people judged and the judge did not.
    extra: labels for other documents of topics that people judged.
    unknown: labels for other topics.
    """

    tables: Ints
    missing: int
    extra: int
    unknown: int


def beside(panel: Panel, judge: Judge) -> Beside:
    """Match a judge's labels with those of people."""
    people, labels = panel.human, judge.labels
    given, found = people.find(labels)
    if not found.size:
        raise InputError(
            f"{quoted(judge.name)} has no label for any pair that people judged",
            source=labels.origin.name,
        )
    known = people.codes_of(labels.topics)[labels.codes] >= 0
    topics, size, low = len(people.topics), len(panel.scale), panel.scale.low
    # Grades below 0, which only people have here, count as the lowest one.
    first = np.maximum(people.grades[found], low).astype(np.int64) - low
    second = labels.grades[given].astype(np.int64) - low
    cell = (people.codes[found].astype(np.int64) * size + first) * size + second
    return Beside(
        np.bincount(cell, minlength=topics * size * size).reshape(topics, size, size),
        missing=len(people) - found.size,
        extra=int(known.sum()) - found.size,
        unknown=int((~known).sum()),
    )
