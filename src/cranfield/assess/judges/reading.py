"""Read the labels of judges, and match them with human judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from math import prod
from os import PathLike, fspath
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.judges.prompts import ANSWERS
from cranfield.base.arrays import Ints
from cranfield.base.errors import InputError, PolicyError, check_integer, quote
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.text import format_range, inflect
from cranfield.collection.files.grade_maps import GradeMap, map_grades, set_grade_kind
from cranfield.collection.files.many_runs import list_run_files
from cranfield.collection.files.named_columns import QRELS, RequestedColumns, request_columns
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.files.system_tables import SystemTable
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.pairs import make_row_error
from cranfield.collection.policies import DUPLICATES, FORMATS
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source, check_encoding, is_utf8
from cranfield.sources.columns import Columns, is_frame, read_columns, read_file_columns
from cranfield.sources.schemas import NAMED_FORMATS, declare_optional, fold_name
from cranfield.sources.values import BOOLEAN_GRADES, GRADE_OR_NONE

_STATUS = replace(
    GRADE_OR_NONE,
    # A file may have both true and 1.
    prepare=lambda cells: [BOOLEAN_GRADES.get(str(cell).strip().lower(), cell) for cell in cells],
)
_LABELS = replace(
    QRELS,
    kind="label set",
    noun="labels",
    columns=(*QRELS.columns[:3], declare_optional("result_status", _STATUS)),
    decisive_kinds=("status", "outcome", "judge", "assessor", "measure", "criterion"),
)
_IDS = {fold_name(name) for column in _LABELS.columns[:2] for name in column.names}


@dataclass(frozen=True, eq=False, repr=False)
class Judge:
    """Labels of one judge; returned by :func:`read_judges`.

    Attributes
    ----------
    name
        Name of the judge.
    labels
        Grades of the judge, as judgments.
    n_unparsed
        Number of answers without a grade: `result_status` is 0, or `judgment` is missing or has no
        grade by the `grades` of :func:`read_judges`.
    n_clipped
        Number of grades outside the scale, which were clipped to it.
    """

    name: str
    labels: Qrels
    n_unparsed: int = 0
    n_clipped: int = 0

    def __repr__(self) -> str:
        counts = f", {self.n_unparsed:,} unparsed" * bool(self.n_unparsed)
        counts += f", {self.n_clipped:,} clipped" * bool(self.n_clipped)
        return f"Judge({quote(self.name)}: {inflect(len(self.labels), 'label')}{counts})"


def note_missing_grades(judge: Judge) -> str:
    """Return the end of a message on missing labels: the number of answers without a grade."""
    n_unparsed = judge.n_unparsed
    return f"; answers of {judge.name} without a grade: {n_unparsed:,}" * bool(n_unparsed)


def read_judges(
    data: Any,
    *,
    format: Annotated[str, OneOf(FORMATS)] = "auto",
    encoding: str = "utf-8",
    columns: Mapping[str, str] | RequestedColumns | None = None,
    separator: str = "auto",
    on_duplicate: Annotated[str, OneOf(DUPLICATES)] = "error",
    grades: Mapping[Any, int | None] | Sequence[float] | str | GradeMap | None = None,
) -> tuple[Judge, ...]:
    """Read the labels of judges, such as large language models; no model is called.

    Parameters
    ----------
    data
        A path, a glob, a folder, or `"NAME=FILE"`; labels in memory, in any form of
        :func:`cranfield.read_qrels`; a mapping `{judge: labels}`; or a list of these. Files are
        TREC qrels (also submissions to LLMJudge), tables (CSV, TSV, Parquet), or JSON lines with
        the ids of topic and document, `judgment`, and UMBRELA's `result_status`, which is 0 for
        answers of the model that could not be parsed.
    format, encoding, columns, separator, on_duplicate, grades
        As for :func:`cranfield.read_qrels`. An answer without a grade is counted as unparsed.

    Returns
    -------
    tuple of Judge
        Judges in the order of `data`; those of a folder by name. The default name of a judge is the
        stem of its file, or `judge` for labels in memory.

    Raises
    ------
    InputError
        With file, line and reason, for labels that cannot be read, such as a grade that is not an
        integer (without `grades`), a document with two labels, and a file without labels.
    PolicyError
        For two judges with the same name, no judge, or an unknown or inapplicable option.

    Examples
    --------
    >>> answers = [
    ...     {"qid": "q1", "docid": "d1", "judgment": 2, "result_status": 1},
    ...     {"qid": "q1", "docid": "d2", "judgment": 0, "result_status": 0},
    ... ]
    >>> read_judges({"llm": answers})
    (Judge('llm': 1 label, 1 unparsed),)
    """
    check_arguments(read_judges, locals())
    check_encoding(encoding)
    column_names = None if columns is None else request_columns(columns, "qrels", None)
    options = {
        **{"format": format, "encoding": encoding, "columns": column_names},
        **{"separator": separator, "on_duplicate": on_duplicate},
        "grades": None if grades is None else GradeMap.parse(grades),
    }
    judges = tuple(_read_judge(name, labels, options) for name, labels in _split_judges(data))
    if not judges:
        raise PolicyError("expected at least one judge, got none")
    names = [judge.name for judge in judges]
    repeated_name = next((name for name in names if names.count(name) > 1), None)
    if repeated_name is not None:
        reason = f"two judges have the name {quote(repeated_name)}; set distinct names by NAME=FILE"
        raise PolicyError(reason)
    return judges


def _split_judges(data: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the name of each judge, or None, and its labels."""
    if isinstance(data, (str, PathLike)):
        name, _, path = fspath(data).partition("=")
        # Text with a slash before the first equals sign is part of a path, not a name.
        if name and path and "/" not in name:
            yield name, path
        else:
            yield from ((None, path) for path in list_run_files(fspath(data)))
    elif isinstance(data, (Judge, Qrels)) or is_frame(data):
        yield None, data
    elif isinstance(data, Mapping):
        # `{topic: {document: grade}}`, or `{judge: labels}`.
        inner_value = next(iter(data.values()), None)
        if isinstance(inner_value, Mapping) and not any(
            isinstance(value, (Mapping, Qrels)) or is_frame(value) for value in inner_value.values()
        ):
            yield None, data
        else:
            yield from ((str(name), labels) for name, labels in data.items())
    elif isinstance(data, Iterable):
        items = list(data)
        if items and _is_row(items[0]):
            yield None, items
        else:
            yield from chain.from_iterable(map(_split_judges, items))
    else:
        raise InputError(f"expected labels of judges, got {type(data).__name__}")


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        # Without an id of a topic or document, it is a mapping of judges to labels.
        return not _IDS.isdisjoint(map(fold_name, item))
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) == 3)


def _read_judge(name: str | None, data: Any, options: dict[str, Any]) -> Judge:
    """Read the labels of a judge, with the options of :func:`cranfield.read_qrels`."""
    format, encoding, column_names = (options[k] for k in ("format", "encoding", "columns"))
    if isinstance(data, (Judge, Qrels)):
        if column_names is not None or not is_utf8(encoding):
            kind = type(data).__name__
            raise PolicyError(f"columns and encoding apply to files and tables, got {kind}")
        judge = data if isinstance(data, Judge) else Judge(name or "judge", data.merge_subtopics())
        return judge if name is None else replace(judge, name=name)
    schema = set_grade_kind(_LABELS, options["grades"])
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        name = name or source.stem
        form = format if format != "auto" else FORMAT_OF_SUFFIX.get(source.suffix, "trec")
        if form not in NAMED_FORMATS or source.path.startswith("irds:"):
            return Judge(name, read_qrels(source.path, subtopics=False, **options))
        columns = read_file_columns(source.with_encoding(encoding, form), schema, form)
    elif not is_utf8(encoding):
        raise PolicyError(f"encoding applies to text files, got {type(data).__name__}")
    else:
        columns = read_columns(data, schema)
    own_names = {} if column_names is None else column_names.match_table(columns.names)
    _check_ids(columns, own_names)
    table = columns.make_table(schema, own_names)
    positions = schema.find_positions(columns.names, columns.source, own_names)
    unread_cells = columns.get_unused_columns(positions.values())
    is_parsed = pl.col("grade").is_not_null() & pl.col("result_status").ne_missing(0)
    rows = table.frame.select(is_parsed.arg_true()).to_series()
    n_answers = table.frame.height
    if rows.is_empty():
        reason = f"expected answers with grades, got {inflect(n_answers, 'answer')} without a grade"
        raise InputError(reason, source=table.source)
    table = table.gather(rows)
    grade_map = options["grades"]
    if grade_map is not None and grade_map.pattern is not None:
        # Answers without a match are unparsed.
        values = grade_map.find_grades(table.frame["grade"])
        table = replace(table, frame=table.frame.with_columns(values))
    else:
        table = map_grades(table, grade_map)
    # A map may give some words no grade.
    is_graded = table.frame["grade"].is_not_null()
    table, rows = table.gather(is_graded.arg_true()), rows.filter(is_graded)
    if not table.frame.height:
        reason = "expected answers with grades, got none that grades=... maps to a grade"
        raise InputError(reason, source=table.source)
    table = replace(table, frame=table.frame.drop("result_status"))
    # Columns such as texts of answers cannot explain why a document has two labels.
    other_columns = {
        column: cells for column, cells in unread_cells.items() if not schema.is_descriptive(column)
    }
    judgments = SystemTable(table, other_columns, "", rows=rows.to_numpy())
    qrels_options = {option: options[option] for option in ("separator", "on_duplicate")}
    labels = read_qrels(judgments, **qrels_options)
    return Judge(name or "judge", labels, n_unparsed=n_answers - table.frame.height)


def _check_ids(columns: Columns, own_names: Mapping[str, str]) -> None:
    """Refuse answers to prompts, and records of UMBRELA with texts instead of ids."""
    names = {fold_name(name) for name in columns.names}
    has_topic, has_doc = (
        column.name in own_names or column.find_in(columns.names) for column in _LABELS.columns[:2]
    )
    if not (has_topic or has_doc) and all(c.find_in(columns.names) for c in ANSWERS.columns):
        raise InputError(
            "expected labels of topics and documents, got answers to prompts; `cranfield prompts"
            " PROMPTS ANSWERS`, or parse_answers, reads the labels in them",
            source=columns.source,
        )
    if not has_doc and {"passage", "judgment"} <= names:
        raise InputError(
            "expected ids of topics and documents, got texts (query, passage) as in the output of"
            " UMBRELA; add qid and docid from its request file, whose candidates are in the same"
            " order, or read the modified_qrels of UMBRELA, which has ids",
            source=columns.source,
        )


MAX_GRADES = 101  # Maximum number of grades of a scale; each topic has a table of pairs of grades


@dataclass(frozen=True)
class GradeScale:
    """Scale of the integer grades from `min_grade` to `max_grade`."""

    min_grade: int
    max_grade: int

    def __len__(self) -> int:
        return self.max_grade - self.min_grade + 1

    def __str__(self) -> str:
        return f"{self.min_grade} to {self.max_grade}"

    @property
    def grades(self) -> list[int]:
        return list(range(self.min_grade, self.max_grade + 1))

    @property
    def cuts(self) -> list[str]:
        """Names of the cuts into two classes, such as `01|23`; empty for fewer than 3 grades."""
        names = [str(grade) for grade in self.grades]
        if len(names) < 3:
            return []
        if max(map(len, names)) > 1:
            return [f"{low}|{high}" for low, high in pairwise(names)]
        return [f"{''.join(names[:k])}|{''.join(names[k:])}" for k in range(1, len(names))]


def parse_scale(scale: Any, min_grade: int = 0) -> GradeScale:
    """Parse a scale from `(0, 3)`, a range, or the text `0..3`; refuse grades below `min_grade`."""
    if isinstance(scale, GradeScale):
        return scale
    ends: Any = None
    if isinstance(scale, str):
        form = re.fullmatch(r"(-?\d{1,9})\.\.(-?\d{1,9})", scale.strip(), re.ASCII)
        ends = form and tuple(map(int, form.groups()))
    elif isinstance(scale, (tuple, list, range)) and scale:
        ends = scale[0], scale[-1]
    for end in ends or ():
        check_integer("a grade of a scale", end, min_grade)
    if ends is None or ends[0] > ends[1]:
        reason = f"scale must be a lowest and highest grade, such as 0..3, got {quote(scale)}"
        raise PolicyError(reason)
    return GradeScale(int(ends[0]), int(ends[1]))


@dataclass(frozen=True, eq=False)
class Panel:
    """Human judgments and labels of judges on the same scale; human grades can be below 0."""

    human: Qrels
    judges: tuple[Judge, ...]
    scale: GradeScale
    notes: tuple[str, ...]


def drop_unsampled(human: Qrels) -> Qrels:
    """Drop documents outside the sample, which have grades below 0 if there are strata."""
    return human.restrict(human.grades >= 0) if human.find_lowest_judged_grade() == 0 else human


def read_panel(
    human: Any, judges: Any, scale: Any = None, clip: bool = False, *, extends_scale: bool = False
) -> Panel:
    """Read human judgments and labels of judges, and refuse or clip grades outside the scale."""
    origin = "of the human judgments" if scale is None else "that was declared"
    scale = None if scale is None else parse_scale(scale)
    human_labels = read_qrels(human, subtopics=False).merge_subtopics()
    judge_list = read_judges(judges)
    if scale is None:
        # With `extends_scale` and without `clip`, grades of judges may extend the scale.
        bounding_labels = judge_list if extends_scale and not clip else ()
        scale = GradeScale(
            0, max(0, human_labels.max_grade, *(j.labels.max_grade for j in bounding_labels))
        )
    if len(scale) > MAX_GRADES:
        reason = f"a scale must have at most {MAX_GRADES} grades, got {len(scale):,} ({scale})"
        raise PolicyError(reason)
    fitted_human = _fit_to_scale(
        Judge("people", human_labels), human_labels.grades >= 0, scale, clip, origin
    )
    fitted_judges = tuple(_fit_to_scale(judge, True, scale, clip, origin) for judge in judge_list)
    n_negative = int((drop_unsampled(human_labels).grades < 0).sum())
    notes = []
    if n_negative:
        notes.append(f"{inflect(n_negative, 'human grade')} below 0 counted as {scale.min_grade}")
    notes += [
        f"{judge.name}: {inflect(judge.n_clipped, 'grade')} outside the scale {scale} clipped to it"
        for judge in (fitted_human, *fitted_judges)
        if judge.n_clipped
    ]
    for judge in (judge for judge in judge_list if clip and len(judge.labels)):
        low, high = judge.labels.grades.min(), judge.labels.grades.max()
        if (low - scale.min_grade) * (high - scale.max_grade) > 0:
            notes.append(
                f"{judge.name}: grades {format_range(judge.labels.grades)} may be on another scale"
                f" than {scale}; if so, map the grades to one scale first"
            )
    return Panel(fitted_human.labels, fitted_judges, scale, tuple(notes))


def _fit_to_scale(judge: Judge, mask: Any, scale: GradeScale, clip: bool, origin: str) -> Judge:
    """Refuse or clip grades outside the scale, among those of the mask."""
    labels, grades = judge.labels, judge.labels.grades
    is_outside = ((grades < scale.min_grade) | (grades > scale.max_grade)) & mask
    if not is_outside.any():
        return judge
    if not clip:
        row = int(is_outside.argmax())
        grade = grades[row]
        advice = "use clip=True to clip grades"
        if grade >= 0:
            advice += ", or scale='...' to set another scale"
        message = f"grade {grade} is outside the scale {scale} {origin}; {advice}"
        raise make_row_error(labels, message, row)
    clipped_grades = np.where(is_outside, grades.clip(scale.min_grade, scale.max_grade), grades)
    n_clipped = judge.n_clipped + int(is_outside.sum())
    return replace(judge, labels=replace(labels, grades=clipped_grades), n_clipped=n_clipped)


MAX_GAPS = 0.2  # Proportion of documents with a label of one side only, above which notes are added


def note_missing_judgments(panel: Panel) -> list[str]:
    """Describe judges with many labelled documents that have no human judgment."""
    human = drop_unsampled(panel.human).to_polars().select("topic", "doc")
    notes = []
    for judge in panel.judges:
        labels = judge.labels.to_polars().select("topic", "doc").join(human, "topic", how="semi")
        n_gaps = len(labels.join(human, ["topic", "doc"], how="anti"))
        if n_gaps > MAX_GAPS * len(labels):
            name = f"{judge.name}: " if len(panel.judges) > 1 else ""
            notes.append(
                f"{name}people did not judge {n_gaps:,} of {len(labels):,} documents that the judge"
                " labelled in their topics; these documents count as not relevant, so if some are"
                " relevant, scores by human labels are too low and biases of the judge's scores too"
                " high; if people judged a random sample of documents, estimate scores with"
                " unit='document'"
            )
    return notes


def note_missing_labels(panel: Panel) -> list[str]:
    """Describe judges without labels for many documents that people judged."""
    human = drop_unsampled(panel.human).to_polars().select("topic", "doc")
    notes = []
    for judge in panel.judges:
        labels = judge.labels.to_polars().select("topic", "doc")
        documents = human.join(labels, "topic", how="semi")
        n_missing = len(documents.join(labels, ["topic", "doc"], how="anti"))
        if n_missing > MAX_GAPS * len(documents):
            notes.append(
                f"{judge.name}: no label for {n_missing:,} of {len(documents):,} documents that"
                " people judged in its topics; these count as not relevant in scores by the judge"
            )
    return notes


def keep_judged_docs(labels: Qrels, human: Qrels) -> Qrels:
    """Return the labels of the documents that people judged."""
    judgments = drop_unsampled(human).to_polars().select("topic", "doc", is_judged=True)
    rows = labels.to_polars().select("topic", "doc")
    rows = rows.join(judgments, on=["topic", "doc"], how="left", maintain_order="left")
    return labels.restrict(rows["is_judged"].is_not_null().to_numpy())


def tabulate(columns: Mapping[str, NDArray[Any]], **keys: Sequence[Any]) -> pl.DataFrame:
    """Make a data frame with a row for each combination of keys, the last key varying fastest."""
    rows = pl.DataFrame(list(product(*keys.values())), list(keys), orient="row")
    values = pl.DataFrame({name: column.ravel() for name, column in columns.items()})
    return rows.hstack(values).fill_nan(None)


def find_judged_topics(qrels: Qrels) -> set[str]:
    """Return the topics with judgments."""
    return {qrels.topics[code] for code in np.unique(qrels.codes)}


def set_highest_grade(judged: JudgedRuns, max_grade: int) -> JudgedRuns:
    """Set the highest grade of the scale of judged runs; refuse a scale without relevant grades."""
    if max_grade < 1:
        raise PolicyError("scores require a scale with a grade above 0, got grade 0 only")
    judgments = replace(judged.judgments, max_grade=max_grade)
    policies = replace(judged.policies, max_grade=max_grade)
    return replace(judged, judgments=judgments, policies=policies, views={})


def count_grade_pairs(panel: Panel, judge: Judge) -> tuple[Ints, dict[str, int]]:
    """Count pairs by topic, human grade and grade of the judge; also return counts of labels."""
    human_labels, labels = panel.human, judge.labels
    rows, human_rows = labels.find_matching_rows(human_labels)
    if not human_rows.size:
        reason = f"{quote(judge.name)} labelled no document that people judged"
        pairs = (source.to_polars().row(0) for source in (labels, human_labels))
        label, judgment = (f"({quote(topic)}, {quote(doc)})" for topic, doc, *_ in pairs)
        raise InputError(
            f"{reason}; check the ids of topics and documents: the first label is of {label}, the"
            f" first judgment of {judgment}",
            source=labels.origin.name,
        )
    n_in_topics = int((human_labels.find_codes(labels.topics)[labels.codes] >= 0).sum())
    shape = (len(human_labels.topics), len(panel.scale), len(panel.scale))
    low, n_pairs = panel.scale.min_grade, human_rows.size
    # Only human judgments can have grades below 0 here, which count as the lowest grade.
    human_level = np.maximum(human_labels.grades[human_rows], low) - low
    judge_level = labels.grades[rows] - low
    cells = np.ravel_multi_index((human_labels.codes[human_rows], human_level, judge_level), shape)
    return np.bincount(cells, minlength=prod(shape)).reshape(shape), {
        "labels": len(labels),
        "pairs": n_pairs,
        "missing": len(human_labels) - n_pairs,
        "extra": n_in_topics - n_pairs,
        "unknown": len(labels) - n_in_topics,
        "unparsed": judge.n_unparsed,
        "clipped": judge.n_clipped,
    }
