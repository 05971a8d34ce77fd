"""Read scores from text lines, JSON, mappings, data frames, and wide or long tables."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import some_of
from cranfield.evaluation.scorefiles.cells import (
    AGGREGATE,
    CUTOFF,
    MAX_NAMES,
    SCORES,
    Entry,
    ScorePart,
    ScoreSource,
    are_measures,
    find_roles,
    has_decimal_comma,
    is_missing,
    is_numeric,
    make_part,
    measure_of,
    read_label,
    resembles_measure,
)
from cranfield.scores import Scores
from cranfield.scores.one_measure import AXES
from cranfield.sources.columns import (
    Columns,
    columns_of_frame,
    columns_of_mapping,
    columns_of_records,
    parquet_frame,
    reading_parquet,
)
from cranfield.sources.schemas import NO_NAME, SUMMARIES, spelt
from cranfield.sources.text import parse_json, parse_json_lines, split_lines
from cranfield.sources.values import LABEL, finite, is_number

RUNID = "runid"  # first field of the line of trec_eval's output that contains the run tag
Row = tuple[list[str], int]  # the cells of a line, and its number


def split_cells(line: str) -> list[str]:
    """Split a line into 3 or 4 cells at tabs, or else into cells at any whitespace."""
    cells = [cell.strip() for cell in line.strip("\r\n").split("\t")]
    return cells if len(cells) in {3, 4} else line.split()


def is_score_line(head: str) -> bool:
    """Return True if the first line of a text has a score, rather than the names of columns."""
    cells = split_cells(head)
    if not 2 <= len(cells) <= 4 or not cells[0] or SCORES.column_of(cells[0]) == "topic":
        return False
    if cells[0] == RUNID or "\t" not in head:
        return True
    return is_numeric(cells[-1]) or is_missing(cells[-1]) or measure_of(cells[0]) is not None


def read_lines(text: str, source: ScoreSource) -> ScorePart:
    """Read lines of measure, topic and value, or topic, measure and value, or four cells."""
    # Lines of four cells begin with the system, which otherwise is the value of the line `runid`,
    # or the stem of the file.
    rows = [(split_cells(line), number) for number, line in split_lines(text)]
    n_cells = 4 if len(rows[0][0]) == 4 else 3
    for cells, line in rows:
        if len(cells) != n_cells:
            raise InputError(
                f"expected {n_cells} columns (measure, topic and value, as trec_eval"
                f" -q or ir_measures --by_query print them), got {len(cells)}",
                line=line,
            )
    if n_cells == 4:
        measure_column, topic_column = 2, 1
        assignment = [(row, row[0][0]) for row in rows]
    else:
        measure_column, topic_column = _find_measure_and_topic(rows, source.requested)
        assignment = _assign_systems(rows, measure_column, topic_column, source.stem)
    return make_part(
        Entry(
            read_label(cells[measure_column], "measure", line),
            read_label(cells[topic_column], "topic", line),
            read_label(system, "system", line),
            None,
            cells[-1],
            line,
        )
        for (cells, line), system in assignment
    )


def _find_measure_and_topic(rows: Sequence[Row], requested: Sequence[str]) -> tuple[int, int]:
    """Find the columns of the measure and the topic; their order depends on the program."""

    def resembles_any_measure(name: str) -> bool:
        return bool(resembles_measure(name) or measure_of(name) is not None or CUTOFF.search(name))

    columns = [list(dict.fromkeys(cells[k] for cells, _ in rows)) for k in (0, 1)]
    criteria = [
        [AGGREGATE not in names for names in columns],
        [any(map(resembles_any_measure, islice(names, MAX_NAMES))) for names in columns],
        [not {*requested}.isdisjoint(names) for names in columns],
        [not all(map(is_numeric, names)) for names in columns],
        [len(names) == 1 for names in columns],
    ]
    for first, second in criteria:
        if first != second:
            return (0, 1) if first else (1, 0)
    raise InputError(
        f"the column of measures is ambiguous: {quoted(columns[0][0])} or"
        f" {quoted(columns[1][0])}; pass measure=, or a table with a header"
    )


def _assign_systems(
    rows: Sequence[Row], measure_column: int, topic_column: int, stem: str
) -> list[tuple[Row, str]]:
    """Assign a system to each per-topic line, from the run tag before or after its block."""
    is_tag = [cells[measure_column] == RUNID for cells, _ in rows]
    tags = [cells[2] for (cells, _), tag in zip(rows, is_tag, strict=True) if tag]
    if len(tags) <= 1:
        return [(row, (tags or [stem])[0]) for row in rows if row[0][topic_column] != AGGREGATE]
    # Number of tags above each line, less one if a tag precedes its block.
    blocks = (np.cumsum(is_tag) - is_tag[0]).tolist()
    lines = [
        (row, block)
        for row, block, tag in zip(rows, blocks, is_tag, strict=True)
        if not tag and row[0][topic_column] != AGGREGATE
    ]
    if lines and {block for _, block in lines} != {*range(len(tags))}:
        raise InputError(
            "the run of each line is ambiguous; pass one file for each run, or a"
            " table (cranfield evaluate --by-topic --format csv)"
        )
    return [(row, tags[block]) for row, block in lines]


@dataclass(frozen=True)
class ScoreTable:
    """A table of scores and its source."""

    source: ScoreSource
    columns: Columns
    decimal: str = "."  # decimal separator of numbers in text cells

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.columns.names]

    @property
    def lines(self) -> Sequence[int | None]:
        return self.columns.lines or [None] * len(self.column(0))

    def column(self, k: int) -> list[Any]:
        return list(self.columns.cells(k))

    def labels(self, k: int, role: str) -> list[str]:
        """Return the cells of a column as labels; raise an error for an empty one."""
        cells = self.column(k)
        labels, invalid = LABEL.column(role, cells)
        if invalid is not None:
            raise InputError(LABEL.reason(role, cells[invalid]), line=self.lines[invalid])
        return labels.to_list()

    def scores(self, k: int) -> list[Any]:
        """Return the cells of a column of scores, with a decimal point instead of a comma."""
        cells = self.column(k)
        if self.decimal == ".":
            return cells
        return [cell.replace(",", ".") if has_decimal_comma(cell) else cell for cell in cells]


def read_table(table: ScoreTable) -> ScorePart:
    """Read a long table, or a wide one, whose numeric columns are systems or measures."""
    roles = find_roles(table.names, table.source.name)
    score_columns = [k for k in range(len(table.names)) if k not in roles.values()]
    if not {"system", "score"} <= roles.keys():
        score_columns = [
            k for k in score_columns if _has_name(table, k, may_be_topics="topic" not in roles)
        ]
    if "system" in roles and "score" not in roles:
        names = [table.names[k] for k in score_columns if not _is_text_column(table, k)]
        score_tests = (is_numeric, is_missing, has_decimal_comma)
        are_scores = all(
            any(test(cell) for test in score_tests) for cell in table.column(roles["system"])
        )
        if are_scores and not are_measures(names, table.source.requested, "columns"):
            score_columns = sorted([*score_columns, roles.pop("system")])
    k = roles.get("topic", -1)
    if k >= 0 and spelt(table.names[k]) == "q" and _has_fractions(table, k):
        # `q` is then the name of a system.
        score_columns = [roles.pop("topic"), *score_columns]
    topics = _find_topics(table, roles, score_columns)
    if "topic" not in roles and topics is not None:
        score_columns = score_columns[1:]
    numbers = [name for k in score_columns if is_number(name := table.names[k])]
    if any(not name.strip("+-").isdigit() for name in numbers) or (numbers and "system" in roles):
        raise InputError(
            "expected names of columns in the first line, got numbers"
            f" ({some_of(numbers, 3)}); add a header line, and put topics in rows"
        )
    has_topics = topics is not None
    topics = topics or [str(k) for k in range(1, len(table.column(0)) + 1)]
    if "system" not in roles and "score" in roles:
        if score_columns and "topic" in roles:
            raise InputError(
                f"has scores in {quoted(table.names[roles['score']])}, but no column"
                f" of systems; the role of column {quoted(table.names[score_columns[0]])} is"
                " unknown"
            )
        if "topic" not in roles:
            score_columns = sorted([*score_columns, roles.pop("score")])
    text_columns = [k for k in score_columns if _is_text_column(table, k)]
    if "score" not in roles and len(text_columns) < len(score_columns):
        score_columns = [k for k in score_columns if k not in text_columns]
        if text_columns:
            unused = some_of([quoted(table.names[k]) for k in text_columns], 5)
            warn(f"{table.source.name}: columns not used: {unused}; they contain text, not scores")
    if "score" in roles:
        table.columns.check_unused(SCORES, [*roles.values()])
    part = make_part(_table_entries(table, roles, score_columns, topics))
    return replace(part, axis=_third_axis(table, roles), has_topics=has_topics)


def _third_axis(table: ScoreTable, roles: Mapping[str, int]) -> str:
    """Return the name of the third axis of scores; `shard` if the table has none."""
    axes = [axis for axis in AXES if axis in roles]
    if len(axes) > 1:
        names = " and ".join(quoted(table.names[roles[axis]]) for axis in axes)
        raise InputError(f"expected scores by shard or by replicate, got columns {names}")
    return next(iter(axes), AXES[0])


def _has_name(table: ScoreTable, k: int, *, may_be_topics: bool) -> bool:
    """Return True if a column has a name; an unnamed one must be empty or number the rows."""
    if not NO_NAME.fullmatch(spelt(table.names[k])) or (may_be_topics and k == 0):
        return True
    cells = table.column(k)
    if not all(map(is_missing, cells)) and not _are_distinct_integers(cells):
        raise InputError(f"column {k + 1} has no name")
    return False


def _are_distinct_integers(cells: Sequence[Any]) -> bool:
    """Return True if the values are distinct integers."""
    if not all(is_numeric(cell) and float(cell).is_integer() for cell in cells):
        return False
    return len({int(float(cell)) for cell in cells}) == len(cells)


def _is_text_column(table: ScoreTable, k: int) -> bool:
    """Return True if a column has values and none of them resembles a number."""
    cells = [cell for cell in table.column(k) if not is_missing(cell)]
    return bool(cells) and not any(
        is_numeric(cell) or _NUMBER_LIKE.match(str(cell).strip()) for cell in cells
    )


_NUMBER_LIKE = re.compile(r"[-+−]?[.,]?\d|[-+−]?inf", re.IGNORECASE)


def _find_topics(
    table: ScoreTable, roles: Mapping[str, int], score_columns: Sequence[int]
) -> list[str] | None:
    """Return the topic of each row; None if the table has none, so that rows are numbered."""
    if "topic" in roles:
        return table.labels(roles["topic"], "topic")
    role = next((role for role in ("system", "measure", *AXES) if role in roles), None)
    if role is not None and not (score_columns and score_columns[0] == 0 and not table.names[0]):
        raise InputError(
            f"has a column of {role}s, {quoted(table.names[roles[role]])},"
            " but no column of topics; scores by topic are required, as in write_csv"
            " of Scores or in cranfield evaluate --by-topic"
        )
    if not score_columns or score_columns[0] != 0:
        return None
    name, cells = table.names[0], table.column(0)
    if NO_NAME.fullmatch(spelt(name)):
        topics = table.labels(0, "topic")
        if are_measures(topics, table.source.requested):
            raise InputError(
                f"expected a row for each topic, got rows of measures ({some_of(topics, 3)});"
                " transpose the table, so that the measures are columns"
            )
        names = [table.names[k] for k in score_columns[1:]]
        are_topics = names and all(map(_TOPIC_NAME.fullmatch, names))
        if are_topics and not any(map(_TOPIC_NAME.fullmatch, topics)):
            raise InputError(
                f"expected topics in rows and systems in columns, got columns {some_of(names, 3)};"
                " transpose the table, or name its first column topic"
            )
        return topics
    values = [cell for cell in cells if not is_missing(cell)]
    n_numbers = sum(is_numeric(cell) or has_decimal_comma(cell) for cell in values)
    if values and not n_numbers:
        return table.labels(0, "topic")
    if n_numbers < len(values):
        raise InputError(
            f"the first column, {quoted(name)}, has numbers and text; rename it to"
            " topic if it has the topics"
        )
    # Topics that are numbers would otherwise be read as scores of a system.
    if len(cells) > 1 and _are_distinct_integers(cells) and {*map(float, cells)} != {0, 1}:
        raise InputError(
            f"the first column, {quoted(name)}, has a different integer in each row;"
            " rename it to topic if these are topics, or add a column topic if they"
            " are scores"
        )
    return None


_TOPIC_NAME = re.compile(r"(q|t|topic|query|question)[-_ ]?\d+", re.IGNORECASE)
_STATISTIC_NAME = re.compile(
    r"(.*[\W_])?(p[\W_]?values?|std|stdev|stderr|sd|diff|delta|gain|improvement|weights?)",
    re.IGNORECASE,
)
_INTEGER_NAME = re.compile(
    r"(.*[\W_])?(ranks?|fold|seed|split|rel|relevant|recall_base|count|idx|index|year|row)|level_\d",
    re.IGNORECASE,
)


def _warn_about_statistics(table: ScoreTable, columns: Sequence[int]) -> None:
    """Warn about columns that are read as systems although their names look like statistics."""
    numbers = {
        k: [x for cell in table.scores(k) if (x := finite(cell)) is not None] for k in columns
    }
    has_fractions = {k: not all(map(float.is_integer, numbers[k])) for k in columns}
    bounds = [(min(numbers[k]), max(numbers[k])) for k in columns if has_fractions[k]]
    has_scores_to_1 = bool(bounds) and all(low >= 0 and high <= 1 for low, high in bounds)
    suspect_names = [
        quoted(name)
        for k in columns
        if spelt(name := table.names[k]) in SUMMARIES
        or _STATISTIC_NAME.fullmatch(name)
        or (_INTEGER_NAME.fullmatch(name) and not has_fractions[k])
        or (has_scores_to_1 and not has_fractions[k] and max(numbers[k], default=0) > 1)
    ]
    if suspect_names:
        listed = some_of(suspect_names, 5)
        warn(
            f"{table.source.name}: columns read as systems: {listed}; remove them if they"
            " are not systems"
        )


def _has_fractions(table: ScoreTable, k: int) -> bool:
    return any(
        has_decimal_comma(cell) or (is_numeric(cell) and not float(cell).is_integer())
        for cell in table.column(k)
    )


def _table_entries(
    table: ScoreTable, roles: dict[str, int], score_columns: list[int], topics: list[str]
) -> Iterator[Entry]:
    """Yield the score of each row of a long table, or of each row and system of a wide one."""
    has_score_column = "score" in roles
    is_long = has_score_column or "system" in roles
    labels = {role: table.labels(k, role) for role, k in roles.items() if role != "score"}
    systems = labels.get("system", [table.source.stem] * len(topics))
    nulls = [None] * len(topics)
    measures = labels.get("measure", nulls)
    shards = labels.get(_third_axis(table, roles), nulls)
    columns = [roles["score"]] if has_score_column else score_columns
    if not columns or (is_long and "measure" in roles and len(columns) > 1):
        raise InputError("has no column of scores")
    names = [table.names[k] for k in columns]
    for name in filter(None, table.names):
        if table.names.count(name) > 1:
            raise InputError(f"duplicate column {quoted(name)}")
    # A table with a column for each measure describes a single run.
    has_measure_columns = not (has_score_column or "measure" in roles) and (
        is_long or are_measures(names, table.source.requested, "columns")
    )
    if not (is_long or has_measure_columns):
        _warn_about_statistics(table, columns)
        _warn_if_transposed(table.source, names, topics)
    elif not is_long and "topic" not in roles:
        _warn_of_systems(table.source, topics)
    cells = [table.scores(k) for k in columns]
    keys = set()
    for row, (topic, line) in enumerate(zip(topics, table.lines, strict=True)):
        key = (measures[row], topic, shards[row])
        if not is_long and key in keys:
            raise InputError("expected one row for each topic, got two", line=line, topic=topic)
        keys.add(key)
        for name, scores in zip(names, cells, strict=True):
            measure = name if has_measure_columns else measures[row]
            system = systems[row] if is_long or has_measure_columns else name
            yield Entry(measure, topic, system, shards[row], scores[row], line)


def read_json(text: str, source: ScoreSource, *, lines: bool) -> ScorePart:
    """Read JSON or JSON lines: an object with a key per system, or an array of rows."""
    parsed: Any
    line_numbers = None
    if lines:
        parsed, line_numbers = parse_json_lines(text, source.name)
        if len(parsed) == 1 and isinstance(row := parsed[0], Mapping):
            # A single line may be the complete object of scores rather than a row.
            is_complete = any(isinstance(value, (Mapping, list)) for value in row.values())
            parsed = row if is_complete else parsed
    else:
        parsed = parse_json(text, source.name)
    if isinstance(parsed, Mapping):
        return read_mapping(parsed, source)
    if not lines and not (isinstance(parsed, list) and any(isinstance(r, Mapping) for r in parsed)):
        raise InputError("expected an object or an array of objects")
    columns = columns_of_records(parsed, SCORES, source.name, line_numbers)
    if not columns.names:
        raise InputError("expected columns of scores, got none")
    return read_table(ScoreTable(source, columns))


def read_mapping(data: Mapping[Any, Any], source: ScoreSource) -> ScorePart:
    """Read {system: {topic: score}}, {system: {topic: {measure: score}}} or {system: scores}.

    Others: {topic: {measure: score}} of one system (pytrec_eval), {system: {measure: {topic:
    score}}} (ranx), output of `cranfield evaluate --format json`, and {column name: values}.
    """
    if not data:
        raise InputError("expected at least one system, got none")
    results = data.get("systems") if "measures" in data else None
    if isinstance(results, Mapping) and all(
        isinstance(system, Mapping) and "overall" in system for system in results.values()
    ):
        lower = data.get("lower is better")
        names = lower if isinstance(lower, list) else []
        topics = {name: system.get("topics", {}) for name, system in results.items()}
        return make_part(_system_entries(topics), {str(name): True for name in names})
    if any(SCORES.column_of(name) == "topic" for name in data):
        values_by_column = columns_of_mapping(SCORES.kind)(data, source.name)
        if not any(values_by_column.values()):
            raise InputError("expected at least one row, got none")
        return read_table(ScoreTable(source, Columns.from_mapping(values_by_column, source.name)))
    systems = _arrange_by_system(data, source)
    topic_names = _keys(scores for scores in systems.values() if isinstance(scores, Mapping))
    _warn_if_transposed(source, [*map(str, systems)], topic_names)
    if [*systems] == [source.stem] and [*map(str, data)] == topic_names:
        _warn_of_systems(source, topic_names)
    return make_part(_system_entries(systems))


_TOPIC_ID = re.compile(r"(q|qid|query|topic)?[\W_]?\d+", re.IGNORECASE)
"""Names that look like ids of topics rather than names of systems."""


def _warn_if_transposed(source: ScoreSource, systems: list[str], topics: list[str]) -> None:
    """Warn if systems look like topics, and topics do not."""
    if not topics or not systems or any(map(_TOPIC_ID.fullmatch, topics)):
        return
    if all(map(_TOPIC_ID.fullmatch, systems)):
        warn(
            f"{source.name}: {some_of(map(quoted, systems), 3)} look like topics, but are read as"
            f" systems, and {some_of(map(quoted, topics), 3)} as topics; transpose it if not"
        )


def _warn_of_systems(source: ScoreSource, topics: list[str]) -> None:
    """Warn if topics of a table with a column per measure look like systems."""
    names = [topic for topic in topics if not re.search(r"\d|\s", topic)]
    if names:
        warn(
            f"{source.name}: {some_of(map(quoted, names), 3)} are read as topics of"
            f" {quoted(source.stem)}; if these are systems, pass their scores by topic"
        )


def _arrange_by_system(data: Mapping[Any, Any], source: ScoreSource) -> Mapping[Any, Any]:
    """Rearrange mappings with measures at another level as {system: {topic: {measure: score}}}."""
    inner_mappings = [value for value in data.values() if isinstance(value, Mapping)]
    cells = [
        cell for values in inner_mappings for cell in values.values() if isinstance(cell, Mapping)
    ]
    requested, kind = source.requested, "" if cells else "keys"
    if are_measures(_keys(cells), requested):
        return data
    if are_measures(map(str, data), requested, kind):
        raise InputError(
            f"expected systems or topics as keys, got measures ({some_of(map(quoted, data), 3)});"
            " pass {topic: {measure: score}} or {system: {topic: {measure: score}}}; for an"
            " evaluation ev, ev['AP'] has the scores of AP"
        )
    if not are_measures(_keys(inner_mappings), requested, kind):
        return data
    if not cells:
        return {source.stem: data}
    return {
        system: _transpose_scores(measures, system) if isinstance(measures, Mapping) else measures
        for system, measures in data.items()
    }


def _keys(level: Iterable[Mapping[Any, Any]]) -> list[str]:
    return list(dict.fromkeys(str(key) for mapping in level for key in mapping))


def _transpose_scores(measures: Mapping[Any, Any], system: Any) -> dict[Any, dict[Any, Any]]:
    """Turn {measure: {topic: score}} into {topic: {measure: score}}."""
    topics: dict[Any, dict[Any, Any]] = {}
    for measure, scores in measures.items():
        if not isinstance(scores, Mapping):
            raise InputError(
                f"expected {{topic: score}} for measure {quoted(measure)} of system"
                f" {quoted(system)}, got {_describe_value(scores)}"
            )
        for topic, score in scores.items():
            topics.setdefault(topic, {})[measure] = score
    return topics


def _system_entries(data: Mapping[Any, Any]) -> Iterator[Entry]:
    """Yield the scores of each system from {topic: score}, {topic: {measure: score}} or a list."""
    for name, system_scores in data.items():
        system = read_label(name, "system")
        is_series = hasattr(system_scores, "items") and hasattr(system_scores, "index")
        is_text_or_scores = isinstance(system_scores, (Scores, str, bytes))
        if isinstance(system_scores, Mapping) or is_series:
            topics = dict(system_scores.items())
        elif isinstance(system_scores, Iterable) and not is_text_or_scores:
            topics = dict(enumerate(system_scores, 1))
        else:
            raise InputError(
                f"expected {{topic: score}} or a list of scores for system {quoted(system)}, got"
                f" {_describe_value(system_scores)}"
            )
        has_measures = any(isinstance(value, Mapping) for value in topics.values())
        for label, value in topics.items():
            topic = read_label(label, "topic")
            if not has_measures:
                yield Entry(None, topic, system, None, value)
            elif not isinstance(value, Mapping):
                raise InputError(
                    f"expected {{measure: score}} for system {quoted(system)}, got"
                    f" {_describe_value(value)}",
                    topic=topic,
                )
            else:
                for measure, cell in value.items():
                    yield Entry(read_label(measure, "measure"), topic, system, None, cell)


def _describe_value(value: Any) -> str:
    return "null" if value is None else f"{quoted(value, 20)} ({type(value).__name__})"


def read_frame(data: Any, source: ScoreSource) -> ScoreTable:
    """Read a data frame, and its index unless it numbers the rows; lines are rows, from 1."""
    columns = columns_of_frame(data, source.name)
    if any(isinstance(name, tuple) for name in columns.names):
        raise InputError("expected one level of column names, got several")
    height = len(columns.cells(0)) if columns.names else 0
    if not height:
        raise InputError("expected at least one row, got none")
    table = ScoreTable(source, replace(columns, lines=range(1, height + 1)))
    index = getattr(data, "index", None)
    if index is None or not hasattr(index, "names"):
        return table
    axis = getattr(data.columns, "name", None)
    if isinstance(axis, str) and SCORES.column_of(axis) == "topic":
        raise InputError(
            f"expected topics in rows, got them in columns ({quoted(axis)}); transpose the table"
        )
    levels = list(index.names)
    return _prepend_index(table, levels, [[*index.get_level_values(k)] for k in range(len(levels))])


def read_parquet(raw: bytes, source: ScoreSource) -> ScoreTable:
    """Read Parquet; columns that pandas saved as the index of a frame become its index again."""
    frame = parquet_frame(raw, source.name)
    with reading_parquet(source.name):
        metadata = pl.read_parquet_metadata(io.BytesIO(raw))
    try:
        index = json.loads(metadata.get("pandas", ""))["index_columns"]
        index = [name for name in index if name in frame.columns]
    except (ValueError, KeyError, TypeError, RecursionError):
        index = []
    if not index or frame.is_empty():
        return read_frame(frame, source)
    levels = [None if name.startswith("__index_level_") else name for name in index]
    labels = [frame[name].to_list() for name in index]
    return _prepend_index(read_frame(frame.drop(index), source), levels, labels)


def _prepend_index(table: ScoreTable, levels: list[Any], labels: list[list[Any]]) -> ScoreTable:
    """Put the index of a pandas frame in front of the columns."""
    level_roles = [None if level is None else SCORES.column_of(level) for level in levels]
    if len(levels) > 1 and None in level_roles:
        unknown = levels[level_roles.index(None)]
        raise InputError(
            f"unknown index level {quoted(unknown)}; expected topic, system, measure or shard"
        )
    # A level of unknown name contains the topics, unless it only numbers the rows.
    if level_roles == [None]:
        has_topics = any(SCORES.column_of(name) == "topic" for name in table.names)
        if has_topics or (levels == [None] and labels[0] == list(range(len(labels[0])))):
            return table
        levels = [""]
    cells = [*labels, *map(table.column, range(len(table.names)))]
    columns = replace(table.columns, names=[*levels, *table.names], cells=cells.__getitem__)
    return replace(table, columns=columns)
