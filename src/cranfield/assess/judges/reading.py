"""Label sets of judges, matched with people's judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import InputError, PolicyError, check_choice, check_whole, quoted
from cranfield.base.text import counted
from cranfield.collection.files.grade_maps import GradeMap, map_grades, with_mapped_grades
from cranfield.collection.files.many_runs import files_of
from cranfield.collection.files.named_columns import QRELS, RequestedColumns, requested_columns
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.files.system_tables import SystemTable
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.policies import DUPLICATES, FORMATS
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source, check_encoding
from cranfield.sources.columns import Columns, columns_of_file, is_frame, read_columns
from cranfield.sources.schemas import NAMED, optional, spelt
from cranfield.sources.values import GRADE_OR_NONE

_LABELS = replace(
    QRELS,
    kind="label set",
    noun="labels",
    columns=(*QRELS.columns[:3], optional("result_status", GRADE_OR_NONE)),
    decisive=("status", "judge"),
)
_IDS = {spelt(name) for column in _LABELS.columns[:2] for name in column.names}


@dataclass(frozen=True, eq=False, repr=False)
class Judge:
    """The labels of one judge; made by :func:`read_judges`.

    Attributes
    ----------
    name
        The judge's name.
    labels
        Its grades, as judgments.
    unparsed
        Number of answers without a grade: `result_status` is 0, or there is no `judgment`.
    cut
        Number of grades outside the scale, which were replaced by its nearest grade.
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
    columns: Mapping[str, str] | RequestedColumns | None = None,
    separator: str = "auto",
    on_duplicate: str = "error",
    grades: Mapping[Any, int] | Sequence[float] | str | GradeMap | None = None,
) -> tuple[Judge, ...]:
    """Read the labels of judges, such as large language models; no model is called.

    Parameters
    ----------
    data
        A path, a glob, a folder, or `"NAME=FILE"`; labels in memory, as
        :func:`cranfield.read_qrels` takes them; a mapping `{judge: labels}`; or a list of these.
        Files are TREC qrels, which submissions to LLMJudge are too, tables (CSV, TSV, Parquet), or
        JSON lines: the ids of topic and document, `judgment`, and `result_status` as of UMBRELA, an
        integer, which is 0 for answers of the model that could not be parsed.
    format, encoding, columns, separator, on_duplicate, grades
        As for :func:`cranfield.read_qrels`. An answer without a grade is counted as unparsed.

    Returns
    -------
    tuple of Judge
        In the order of `data`; those of a folder by name. The stem of a file is the judge's name.

    Raises
    ------
    InputError
        With file, line and reason, for labels that cannot be read: a grade that is not an integer,
        a document with two labels, a file without any label.
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
    check_choice("on_duplicate", on_duplicate, DUPLICATES)
    check_encoding(encoding)
    names_of = None if columns is None else requested_columns(columns, "qrels", None)
    options = {"separator": separator, "on_duplicate": on_duplicate}
    mapped = None if grades is None else GradeMap.of(grades)
    judges = tuple(
        _read(name, labels, format, encoding, names_of, mapped, options)
        for name, labels in _items(data)
    )
    if not judges:
        raise PolicyError("expected at least one judge, got none")
    names = [judge.name for judge in judges]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PolicyError(f"two judges have the name {quoted(twice)}; name each: NAME=FILE")
    return judges


def _items(data: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the labels of each judge, with the name if there is one."""
    if isinstance(data, (str, PathLike)):
        path = fspath(data)
        name, _, file = path.partition("=")
        # A name stands before the first sign; what looks like a folder is not a name.
        if name and file and "/" not in name:
            yield name, file
        else:
            yield from ((None, file) for file in files_of(path))
    elif isinstance(data, (Judge, Qrels)) or is_frame(data):
        yield None, data
    elif isinstance(data, Mapping):
        # `{topic: {document: grade}}`, or `{judge: labels}`.
        inner = next(iter(data.values()), None)
        if isinstance(inner, Mapping) and not any(
            isinstance(value, (Mapping, Qrels)) or is_frame(value) for value in inner.values()
        ):
            yield None, data
        else:
            yield from ((str(name), labels) for name, labels in data.items())
    elif isinstance(data, Iterable):
        items = list(data)
        if items and _is_row(items[0]):
            yield None, items
        else:
            for item in items:
                yield from _items(item)
    else:
        raise InputError(f"{type(data).__name__} cannot be read as labels of judges")


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        # Otherwise a mapping of judges to labels.
        return not _IDS.isdisjoint(map(spelt, item))
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) == 3)


def _read(
    name: str | None,
    data: Any,
    format: str,
    encoding: str,
    names_of: RequestedColumns | None,
    mapped: GradeMap | None,
    options: dict[str, Any],
) -> Judge:
    schema = with_mapped_grades(_LABELS, mapped)
    if isinstance(data, (Judge, Qrels)):
        if names_of is not None or encoding != "utf-8":
            kind = type(data).__name__
            raise PolicyError(f"columns and encoding apply to files and tables, got {kind}")
        judge = data if isinstance(data, Judge) else Judge(name or "judge", data.flat())
        return judge if name is None else replace(judge, name=name)
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        name = name or source.stem
        form = format if format != "auto" else FORMAT_OF_SUFFIX.get(source.suffix, "trec")
        if form not in NAMED or source.path.startswith("irds:"):
            reading: Any = {"format": format, "encoding": encoding, "columns": names_of}
            reading["grades"] = mapped
            return Judge(name, read_qrels(source.path, subtopics=False, **reading, **options))
        columns = columns_of_file(source.in_encoding(encoding, form), schema, form)
    elif encoding != "utf-8":
        raise PolicyError(f"encoding applies to text files, got {type(data).__name__}")
    else:
        columns = read_columns(data, schema)
    own_names = {} if names_of is None else names_of.in_table(columns.names)
    _check_ids(columns, own_names)
    table = columns.table(schema, own_names)
    parsed = pl.col("grade").is_not_null() & pl.col("result_status").ne_missing(0)
    rows = table.frame.select(parsed.arg_true()).to_series().to_numpy()
    answers = table.frame.height
    if not rows.size:
        raise InputError(f"none of {counted(answers, 'answer')} has a grade", source=table.source)
    lines = None if table.lines is None else np.asarray(table.lines)[rows]
    table = replace(table, frame=table.frame[rows].drop("result_status"), lines=lines)
    table = map_grades(table, mapped)
    labels = read_qrels(SystemTable(table, {}, ""), **options)
    return Judge(name or "judge", labels, unparsed=answers - rows.size)


def _check_ids(columns: Columns, own_names: Mapping[str, str]) -> None:
    """Refuse records of UMBRELA, which have texts in place of ids, and say where the ids are."""
    names = {spelt(name) for name in columns.names}
    has_doc = "doc" in own_names or _LABELS.columns[1].named_in(columns.names)
    if not has_doc and {"passage", "judgment"} <= names:
        raise InputError(
            "has texts (query, passage) and no ids, as UMBRELA writes: add the qid and docid of its"
            " request file, whose candidates are in the same order, to each record; or read the"
            " modified_qrels that UMBRELA writes, which has ids",
            source=columns.source,
        )


GRADES = 101
"""Maximum number of grades of a scale: each topic has a table of pairs of grades."""


@dataclass(frozen=True)
class Scale:
    """The possible grades, from `low` to `high`."""

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
        """Names of the cuts of the scale in two, such as `01|23`; none of a scale of two grades."""
        names = [str(grade) for grade in self.grades]
        if len(names) < 3:
            return []
        if max(map(len, names)) > 1:
            return [f"{low}|{high}" for low, high in pairwise(names)]
        return [f"{''.join(names[:k])}|{''.join(names[k:])}" for k in range(1, len(names))]


def read_scale(scale: Any) -> Scale:
    """Read a scale from `(0, 3)`, a range, or the text `0..3`."""
    wrong = f"expected the lowest and highest grade of a scale, such as 0..3, got {quoted(scale)}"
    if isinstance(scale, Scale):
        return scale
    ends: Any = None
    if isinstance(scale, str):
        form = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", scale.strip(), re.ASCII)
        ends = form and tuple(map(int, form.groups()))
    elif isinstance(scale, (tuple, list, range)) and scale:
        ends = scale[0], scale[-1]
    if ends is None:
        raise PolicyError(wrong)
    for end in ends:
        check_whole("a grade of a scale", end, 0)
    if ends[0] > ends[1]:
        raise PolicyError(wrong)
    return Scale(int(ends[0]), int(ends[1]))


@dataclass(frozen=True, eq=False)
class Panel:
    """People and judges on one scale.

    human: the judgments of people, with grades below 0 for judged and not relevant.
    judges: their labels.
    scale: the possible grades.
    notes: notes on replaced grades.
    """

    human: Qrels
    judges: tuple[Judge, ...]
    scale: Scale
    notes: tuple[str, ...]


def sampled_only(people: Qrels) -> Qrels:
    """Return the judged documents: in strata of a sample a grade below 0 marks unsampled ones."""
    return people.restricted(people.grades >= 0) if "stratum" in people.columns else people


def panel_of(
    human: Any, judges: Any, scale: Any = None, cut: bool = False, *, scale_of_judges: bool = False
) -> Panel:
    """Read people and judges, and refuse grades outside the scale, or replace them.

    The default scale ends at the highest human grade; with `scale_of_judges`, and unless grades are
    cut, at the highest grade of people and judges.
    """
    declared = None if scale is None else read_scale(scale)
    people = read_qrels(human, subtopics=False).flat()
    machines = read_judges(judges)
    highest = [people.max_grade, 0]
    if scale_of_judges and not cut:
        highest += [judge.labels.max_grade for judge in machines]
    panel_scale = Scale(0, max(highest)) if declared is None else declared
    if len(panel_scale) > GRADES:
        raise PolicyError(
            f"the scale {panel_scale} has {len(panel_scale):,} grades; at most {GRADES} fit"
        )
    whose = "of the human judgments" if declared is None else "that was declared"
    of_people = _on_scale(Judge("people", people), panel_scale, cut, whose, below=True)
    of_judges = tuple(_on_scale(judge, panel_scale, cut, whose) for judge in machines)
    below = int((sampled_only(people).grades < 0).sum())
    notes = (
        [f"{counted(below, 'human grade')} below 0: counted as {panel_scale.low}"] if below else []
    )
    for judge in (of_people, *of_judges):
        if judge.cut:
            notes.append(
                f"{judge.name}: {counted(judge.cut, 'grade')} outside the scale {panel_scale}"
                " set to its nearest grade"
            )
    return Panel(of_people.labels, of_judges, panel_scale, tuple(notes))


def _on_scale(judge: Judge, scale: Scale, cut: bool, whose: str, below: bool = False) -> Judge:
    """Refuse, or cut, grades outside the scale; `below` allows grades below 0."""
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
            (
                f"grade {labels.grades[row]} is outside the scale {scale} {whose}; cut=True"
                " replaces it by the nearest one, scale='...' sets another scale"
            ),
            row,
            topic,
            labels.docs[row],
        )
    within = np.where(off, np.clip(labels.grades, scale.low, scale.high), labels.grades)
    return replace(judge, labels=replace(labels, grades=within), cut=judge.cut + int(off.sum()))


def combinations(**names: Sequence[Any]) -> pl.DataFrame:
    """Return a row for each combination of names, those of the last column varying fastest."""
    indices = np.indices([len(values) for values in names.values()])
    return pl.DataFrame(
        {
            name: pl.Series(values).gather(index.ravel())
            for (name, values), index in zip(names.items(), indices, strict=True)
        }
    )


def with_highest_grade(judged: JudgedRuns, highest: int) -> JudgedRuns:
    """Return judged runs with this highest grade of the scale."""
    return replace(judged, judgments=replace(judged.judgments, max_grade=highest), views={})


def matched(panel: Panel, judge: Judge) -> tuple[Ints, dict[str, int]]:
    """Return pairs by topic, grade by people and grade by the judge, and counts of labels."""
    people, labels = panel.human, judge.labels
    rows, human_rows = labels.matching_rows(people)
    if not human_rows.size:
        raise InputError(
            f"{quoted(judge.name)} has no label for any pair that people judged",
            source=labels.origin.name,
        )
    in_topics = int((people.codes_of(labels.topics)[labels.codes] >= 0).sum())
    topics, size, low = len(people.topics), len(panel.scale), panel.scale.low
    # Grades below 0, which only people have here, count as the lowest one.
    first = np.maximum(people.grades[human_rows], low).astype(np.int64) - low
    second = labels.grades[rows].astype(np.int64) - low
    cell = (people.codes[human_rows].astype(np.int64) * size + first) * size + second
    pairs = human_rows.size
    return np.bincount(cell, minlength=topics * size * size).reshape(topics, size, size), {
        "labels": len(labels),
        "pairs": pairs,
        "missing": len(people) - pairs,
        "extra": in_topics - pairs,
        "unknown": len(labels) - in_topics,
        "unparsed": judge.unparsed,
        "cut": judge.cut,
    }
