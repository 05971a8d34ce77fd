"""Read scores from JSON and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.evaluation.scorefiles.cells import (
    SCORES,
    ScorePart,
    ScoreSource,
    are_measures,
    complete_part,
    convert_labels,
    make_part,
    make_score_frame,
)
from cranfield.evaluation.scorefiles.formats import (
    ScoreTable,
    read_table,
    refuse_nested_values,
    warn_if_transposed,
    warn_of_systems,
)
from cranfield.scores import Scores
from cranfield.sources.columns import (
    Columns,
    is_frame,
    read_mapping_columns,
    read_record_columns,
    transpose_rows,
    unwrap_pandas,
)
from cranfield.sources.text import parse_json, parse_json_lines
from cranfield.sources.values import parse_number


def read_json(text: str, source: ScoreSource, *, is_jsonl: bool) -> ScorePart:
    """Read JSON or JSON lines: an object with a key per system, or an array of rows."""
    parsed: Any
    line_numbers = None
    if is_jsonl:
        parsed, line_numbers = parse_json_lines(text, source.name)
        if len(parsed) == 1 and isinstance(row := parsed[0], Mapping):
            # A single line may be the complete object of scores rather than a row.
            is_complete = any(isinstance(value, (Mapping, list)) for value in row.values())
            parsed = row if is_complete else parsed
    else:
        parsed = parse_json(text, source.name)
    if isinstance(parsed, Mapping):
        parsed = unwrap_pandas(parsed, SCORES, source.name)
    if isinstance(parsed, Mapping):
        return read_mapping(parsed, source)
    if not is_jsonl and not (isinstance(parsed, list) and any(isinstance(r, dict) for r in parsed)):
        raise InputError(f"expected an object or array of objects, got {_describe_value(parsed)}")
    columns = read_record_columns(parsed, SCORES, source.name, line_numbers)
    if not columns.names:
        raise InputError("expected columns of scores, got none")
    return read_table(ScoreTable(source, columns))


def read_mapping(data: Mapping[Any, Any], source: ScoreSource) -> ScorePart:
    """Read {system: {topic: score}}, {system: {topic: {measure: score}}} or {system: scores}.

    Or read {topic: {measure: score}} of one system (pytrec_eval), {column name: values}, {system:
    {measure: {topic: score}}} (ranx), a response of rank_eval, or JSON of `cranfield evaluate`.
    """
    if not data:
        raise InputError("expected at least one system, got none")
    results = data.get("systems") if "measures" in data else None
    if isinstance(results, Mapping) and all(
        isinstance(system, Mapping) and "overall" in system for system in results.values()
    ):
        names = data.get("lower is better")
        names = names if isinstance(names, list) else []
        topics = {name: system.get("topics", {}) for name, system in results.items()}
        # Overall values are not in `topics`, so no summaries need to be removed.
        frame = _make_system_frame(topics, is_named=data["measures"] != [""])
        return complete_part(frame, {str(name) or None: True for name in names})
    if {"metrics", "model_names"} <= data.keys():
        raise InputError("expected scores by topic, got a report of ranx with means only")
    if {"task_name", "scores"} <= data.keys():
        raise InputError("expected scores by topic, got a result of MTEB with means only")
    details = data.get("details")
    if "metric_score" in data and isinstance(details, Mapping):
        # The response of rank_eval of Elasticsearch and OpenSearch.
        if failures := data.get("failures"):
            reason = f"as their search failed: {list_some(map(quote, failures), 3)}"
            warn(f"{source.name}: {inflect(len(failures), 'topic')} without a score, {reason}")
        scores = {
            topic: detail.get("metric_score") if isinstance(detail, Mapping) else detail
            for topic, detail in details.items()
        }
        return make_part(_make_system_frame({source.stem: scores}))
    if any(SCORES.find_column(name) == "topic" for name in data):
        if _are_columns_of_pandas(data):
            data = {name: [*cells.values()] for name, cells in data.items()}
        values_by_column = read_mapping_columns(data, source.name)
        if not any(values_by_column.values()):
            raise InputError("expected at least one row, got none")
        return read_table(ScoreTable(source, Columns.from_mapping(values_by_column, source.name)))
    nested_values = {
        name: scores
        for name, scores in data.items()
        if isinstance(scores, list) and any(isinstance(cell, (Mapping, list)) for cell in scores)
    }
    # A text among objects belongs to the report of another tool, such as its version.
    texts = [value for value in data.values() if isinstance(value, str)]
    has_texts = any(parse_number(text) is None for text in texts)
    if nested_values or (has_texts and any(isinstance(value, Mapping) for value in data.values())):
        refuse_nested_values(nested_values or data)
    systems = _arrange_by_system(data, source)
    topic_names = _list_keys(scores for scores in systems.values() if isinstance(scores, Mapping))
    warn_if_transposed(source, [*map(str, systems)], topic_names)
    if [*systems] == [source.stem] and [*map(str, data)] == topic_names:
        warn_of_systems(source, topic_names)
    part = make_part(_make_system_frame(systems))
    warn_if_transposed(source, part.list_labels("measure"), topic_names, "measures")
    return part


def _are_columns_of_pandas(data: Mapping[Any, Any]) -> bool:
    """Return True for columns `{name: {index: value}}` with the same index."""
    columns = [*data.values()]
    return all(isinstance(cells, Mapping) and [*cells] == [*columns[0]] for cells in columns)


def _arrange_by_system(data: Mapping[Any, Any], source: ScoreSource) -> Mapping[Any, Any]:
    """Rearrange mappings with measures at another level as {system: {topic: {measure: score}}}."""
    inner_mappings = [value for value in data.values() if isinstance(value, Mapping)]
    cells = [
        cell for values in inner_mappings for cell in values.values() if isinstance(cell, Mapping)
    ]
    requested, kind = source.requested, "" if cells else "keys"
    if are_measures(_list_keys(cells), requested):
        return data
    if are_measures(map(str, data), requested, kind):
        raise InputError(
            f"expected systems or topics as keys, got measures ({list_some(map(quote, data), 3)});"
            " pass {topic: {measure: score}} or {system: {topic: {measure: score}}}; for an"
            " evaluation ev, ev['AP'] has the scores of AP"
        )
    if not are_measures(_list_keys(inner_mappings), requested, kind):
        return data
    if not cells:
        return {source.stem: data}
    return {
        system: _transpose_scores(measures, system) if isinstance(measures, Mapping) else measures
        for system, measures in data.items()
    }


def _list_keys(level: Iterable[Mapping[Any, Any]]) -> list[str]:
    return list(dict.fromkeys(str(key) for mapping in level for key in mapping))


def _transpose_scores(measures: Mapping[Any, Any], system: Any) -> dict[Any, dict[Any, Any]]:
    """Turn {measure: {topic: score}} into {topic: {measure: score}}."""
    topics: dict[Any, dict[Any, Any]] = {}
    for measure, scores in measures.items():
        if not isinstance(scores, Mapping):
            raise InputError(
                f"expected {{topic: score}} for measure {quote(measure)} of system"
                f" {quote(system)}, got {_describe_value(scores)}"
            )
        for topic, score in scores.items():
            topics.setdefault(topic, {})[measure] = score
    return topics


def _make_system_frame(data: Mapping[Any, Any], *, is_named: bool = True) -> pl.DataFrame:
    """Return the scores of systems from {topic: score}, {topic: {measure: score}} or lists."""
    rows: list[tuple[str, Any, Any, Any]] = []
    # Most topics have the same measures.
    read_measures = cache(lambda names: convert_labels(names, "measure").to_list())
    for name, scores in data.items():
        [system] = convert_labels([name], "system")
        is_series = hasattr(scores, "items") and hasattr(scores, "index")
        if is_frame(scores):
            raise InputError(
                f"expected {{topic: score}} for system {quote(system)}, got a data frame; pass one"
                " data frame with columns topic, system and score"
            )
        if isinstance(scores, Mapping) or is_series:
            topics = dict(scores.items())
        elif isinstance(scores, Iterable) and not isinstance(scores, _NOT_LISTS):
            topics = dict(enumerate(scores, 1))
        else:
            expected = f"expected {{topic: score}} or a list of scores for system {quote(system)}"
            advice = f"; if {quote(system)} is a topic, write {{system: {{topic: score}}}}"
            is_score = parse_number(scores) is not None
            raise InputError(f"{expected}, got {_describe_value(scores)}{advice * is_score}")
        has_measures = any(isinstance(value, Mapping) for value in topics.values())
        for topic, value in topics.items():
            if has_measures and not isinstance(value, Mapping):
                raise InputError(
                    f"expected {{measure: score}} for system {quote(system)}, got"
                    f" {_describe_value(value)}",
                    topic=str(topic),
                )
            # The key of a measure without a name is ignored.
            measures = read_measures((*value,)) if has_measures and is_named else [None]
            cells = value.values() if has_measures else [value]
            rows += [(system, topic, *pair) for pair in zip(measures, cells, strict=True)]
    columns = transpose_rows(("system", "topic", "measure", "cell"), rows)
    cells = columns.pop("cell")
    return make_score_frame(columns | {"topic": convert_labels(columns["topic"], "topic")}, cells)


_NOT_LISTS = (Scores, str, bytes, set, frozenset)  # a set has no order of topics


def _describe_value(value: Any) -> str:
    return "null" if value is None else f"{quote(value, 20)} ({type(value).__name__})"
