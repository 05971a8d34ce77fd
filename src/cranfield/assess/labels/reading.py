"""Read labels from wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.labels.columns import LABELS, of_lines
from cranfield.assess.labels.table import Labels
from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, LineMap, Origin, Source
from cranfield.sources.tables import read_table
from cranfield.sources.values import GRADE, ID

REPEATS = {
    "error": "a second label of a worker for a pair is an error",
    "last": "the last label of a worker for a pair counts, by `order` where there is one",
    "keep": "all labels count",
}
"""What becomes of repeated labels."""

MISSING = {"error": "a label without a grade is an error", "drop": "it is left out, and counted"}
"""What becomes of labels without a grade."""

NO_TOPIC = "all"
"""The topic of items that have none."""


def read_labels(
    data: Any,
    *,
    columns: str | Sequence[str] | None = None,
    grades: Iterable[int] | None = None,
    repeats: str = "error",
    missing: str = "error",
    encoding: str = "utf-8",
) -> Labels:
    """Read labels: which worker gave which grade to which document of which topic.

    Parameters
    ----------
    data
        A file or a data frame with columns topic, doc, worker, grade and, if known, order, under
        any of their usual names (`item`, `task`, `annotator`, `assessor`, `rater`, `label` ...):
        CSV, TSV, JSON lines, JSON and Parquet by the suffix. A file of any other suffix is lines of
        fields between blanks. Or rows: tuples (topic, doc, worker, grade), mappings, named tuples.
        Or a dict `{worker: judgments}`, the judgments being anything that `read_qrels` takes.
        Without a topic, all items are of one topic, `all`, and this is noted.
    columns
        What the fields of a line without a head are, such as `"worker doc grade"`; `-` is a field
        that is not read. By default lines of four or five fields are topic, doc, worker, grade and
        order; those of any other number are refused.
    grades
        The scale, whole numbers; a label off it is an error. By default the grades that occur.
    repeats
        What becomes of several labels of a worker for a pair: `error`; `last`, by order where there
        is one, else by row; `keep`.
    missing
        Of a label whose grade is empty, null, NaN or `NA` in a table: `error`, or `drop` it.
    encoding
        Of lines of text.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: a grade that is no whole number or off the scale,
        a repeated or missing label where that is an error, a line with too few or too many fields.
    PolicyError
        For an unknown policy, or columns that do not fit.

    Examples
    --------
    >>> read_labels([{"item": "a", "rater": "ann", "label": 1}])
    Labels(1 label of 1 pair by 1 worker, grades 1)
    >>> read_labels({"ann": {"q1": {"d1": 2}}, "bob": {"q1": {"d1": 0, "d2": 1}}}, grades=range(3))
    Labels(3 labels of 2 pairs by 2 workers, grades 0, 1, 2)
    """
    check_choice("repeats", repeats, REPEATS)
    check_choice("missing", missing, MISSING)
    scale = None if grades is None else _scale(grades)
    if isinstance(data, Labels):
        return data
    if isinstance(data, Mapping):
        frame, origin = _by_worker(data), Origin("labels")
    elif _is_text(data):
        frame, origin = of_lines(Source(fspath(data)), columns, encoding)
    else:
        table = read_table(data, LABELS)
        frame, origin = table.frame, Origin(table.source, LineMap.of(table.lines))
    return _Rows(frame, origin).labels(scale, repeats, missing)


class _Rows:
    """Rows on their way to labels: what is wrong is refused, what is left out is noted."""

    def __init__(self, frame: pl.DataFrame, origin: Origin) -> None:
        self.frame = frame.with_row_index("row")
        self.origin = origin
        self.notes: list[str] = []

    def labels(self, scale: np.ndarray[Any, Any] | None, repeats: str, missing: str) -> Labels:
        self._name()
        self._missing(missing)
        self._off(scale)
        self._repeats(repeats)
        frame = self.frame
        topics = frame["topic"].unique(maintain_order=True)
        workers = frame["worker"].unique(maintain_order=True)
        pairs = frame.select("topic", "doc").unique(maintain_order=True)
        found = np.unique(frame["grade"].to_numpy()) if scale is None else scale
        order = frame["order"]
        return Labels(
            topics=tuple(topics),
            topic_of=_codes(pairs, topics, "topic").astype(np.int32),
            docs=pairs["doc"],
            workers=tuple(workers),
            grades=found.astype(np.int32),
            pair=_codes(frame, pairs, "topic", "doc"),
            worker=_codes(frame, workers, "worker"),
            level=np.searchsorted(found, frame["grade"].to_numpy()).astype(np.int64),
            order=None if order.null_count() else order.to_numpy().copy(),
            origin=Origin(self.origin.name),
            notes=tuple(self.notes),
        )

    def _refuse(self, bad: pl.Expr, reason: Any) -> None:
        """Refuse the first of some bad rows, for a reason that its cells give."""
        rows = self.frame.filter(bad)
        if rows.height:
            row = rows.row(0, named=True)
            raise self.origin.wrong(reason(row), row["row"], row["topic"], row["doc"])

    def _name(self) -> None:
        """Give items without a topic one, and take the blanks around names away."""
        if self.frame["topic"].null_count() == self.frame.height:
            self.frame = self.frame.with_columns(topic=pl.lit(NO_TOPIC))
            self.notes.append(f"no topics: all items are of one topic, {quoted(NO_TOPIC)}")
        ids = ("topic", "doc", "worker")
        bare = self.frame.with_columns(pl.col(ids).str.strip_chars())
        changed = sum(int((bare[name] != self.frame[name]).sum()) for name in ids)
        if changed:
            self.frame = bare
            self.notes.append(f"blanks around {counted(changed, 'id')} were taken away")
        for name in ids:
            self._refuse(pl.col(name) == "", lambda row, name=name: f"has no {name}")
        self._refuse(
            pl.col("order").is_not_null() & ~pl.col("order").is_finite(),
            lambda row: f"order {row['order']} is not a finite number",
        )

    def _missing(self, policy: str) -> None:
        if policy == "error":
            self._refuse(
                pl.col("grade").is_null(), lambda row: "has no grade (missing='drop' leaves it out)"
            )
            return
        gone = self.frame["grade"].null_count()
        if gone == self.frame.height:
            raise InputError("no label has a grade", source=self.origin.name)
        if gone:
            self.frame = self.frame.drop_nulls("grade")
            self.notes.append(f"{counted(gone, 'label')} without a grade left out")

    def _off(self, scale: np.ndarray[Any, Any] | None) -> None:
        if scale is not None:
            listed = ", ".join(map(str, scale[:8])) + (", …" if scale.size > 8 else "")
            self._refuse(
                ~pl.col("grade").is_in(scale.tolist()),
                lambda row: f"grade {row['grade']} is off the scale ({listed})",
            )

    def _repeats(self, policy: str) -> None:
        cell = ("topic", "doc", "worker")
        if policy == "keep":
            repeated = self.frame.height - self.frame.select(cell).n_unique()
            if repeated:
                self.notes.append(f"{counted(repeated, 'repeated label')} kept")
            return
        again = ~pl.struct(cell).is_first_distinct()
        if policy == "error":
            self._refuse(
                again,
                lambda row: (
                    f"a second label of worker {quoted(row['worker'])}"
                    " (repeats='last' or 'keep' takes it)"
                ),
            )
            return
        kept = (
            self.frame.sort("order", maintain_order=True, nulls_last=False)
            .unique(cell, keep="last", maintain_order=True)
            .sort("row")
        )
        if gone := self.frame.height - kept.height:
            self.frame = kept
            self.notes.append(f"{counted(gone, 'label')} replaced by a later one of the worker")


def _codes(frame: pl.DataFrame, names: pl.Series | pl.DataFrame, *on: str) -> Any:
    """Return where each row stands among names."""
    named = names.to_frame() if isinstance(names, pl.Series) else names
    found = frame.select(on).join(
        named.with_row_index("code"), on=list(on), how="left", maintain_order="left"
    )
    return found["code"].cast(pl.Int64).to_numpy().copy()


def _scale(grades: Iterable[int]) -> np.ndarray[Any, Any]:
    listed = [*grades]
    read = [GRADE.read(grade) for grade in listed]
    if not read or None in read or len({*read}) < len(read):
        raise PolicyError(f"grades {quoted(listed)} are no scale of different whole numbers")
    return np.sort(np.array(read, dtype=np.int32))


def _by_worker(data: Mapping[Any, Any]) -> pl.DataFrame:
    """Put judgments of several workers together."""
    frames = []
    for worker, judgments in data.items():
        name = ID.read(worker)
        if name is None:
            raise InputError(f"worker {quoted(worker)} is not text or an integer", source="labels")
        qrels = read_qrels(judgments)
        if qrels.subtopics is not None:
            raise InputError("judgments by subtopic are no labels", source=qrels.origin.name)
        frame = qrels.to_polars().select("topic", "doc", "grade")
        frames.append(frame.with_columns(worker=pl.lit(name), order=pl.lit(None, pl.Float64)))
    if not frames:
        raise LABELS.empty("labels")
    return pl.concat(frames)


def _is_text(data: Any) -> bool:
    path = isinstance(data, (str, PathLike))
    return path and FORMAT_OF_SUFFIX.get(Source(fspath(data)).suffix) not in LABELS.formats
