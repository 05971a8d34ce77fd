"""Read per-topic scores of one measure or of several, in any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, PolicyError, add_source, check_choice, quote, warn
from cranfield.base.scale_types import Scale
from cranfield.base.text import list_some
from cranfield.collection.files.many_runs import split_name
from cranfield.evaluation.scorefiles.cells import (
    ScorePart,
    ScoreSource,
    complete_part,
    is_same_measure,
    join_parts,
    make_score_frame,
)
from cranfield.evaluation.scorefiles.formats import (
    ScoreTable,
    is_score_line,
    read_frame,
    read_lines,
    read_parquet,
    read_table,
)
from cranfield.evaluation.scorefiles.mappings import read_json, read_mapping
from cranfield.measures import Measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import AXES
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import is_frame, read_csv_columns
from cranfield.sources.text import SEPARATORS, decode_text, find_separator, split_lines


def read_scores(
    data: Any,
    *,
    measure: str | Measure | None = None,
    lower_is_better: bool | None = None,
    format: str = "auto",
    scale: Scale | str | None = None,
) -> Scores:
    """Read per-topic scores of one measure.

    Parameters
    ----------
    data
        A file (`-` is standard input), compressed or not, or `NAME=FILE` for a file of one system;
        a data frame; a mapping {system: {topic: score}}, {system: {topic: {measure: score}}},
        {system: {measure: {topic: score}}}, {topic: {measure: score}} of one system, or {system:
        scores}; or several of these, whose systems are joined. A table is either wide, with a row
        for each topic and a column for each system (or for each measure of one system), the topics
        in a column `topic` or in a first column of text; or long, with columns `topic`, `system`,
        `score` and perhaps `measure` and `shard` or `replicate`. Text lines are those of NTCIREVAL,
        `trec_eval -q` (measure, topic, value) or ir_measures (topic, measure, value), and JSON may
        be a response of rank_eval. Empty cells, `NaN` and `NA` are missing scores. The topic `all`,
        the summary of these programs, is skipped; so are other rows with the names or values of
        totals and means, with a warning.
    measure
        The measure to select, by any of its names, if the data have several; or its name, if the
        data do not name it.
    lower_is_better
        Whether lower scores are better, as for latency or RMSE. By default as the data state, or
        else the definition of the measure; for unknown measures higher is better.
    format
        `auto`, `csv`, `tsv`, `json`, `jsonl`, `parquet`, or `trec` for text lines.
    scale
        The measurement scale of the scores, if you declare one: `nominal`, `ordinal`, `interval` or
        `ratio`. By default the scale of the measure, if it is known.

    Returns
    -------
    Scores
        NaN where a system has no score for a topic.

    Raises
    ------
    InputError
        With file and line, for a score that is not finite, a line with the wrong number of cells,
        two scores for one topic and system, no scores, or an unknown or ambiguous measure.
    PolicyError
        For an unknown format or scale, or a direction that contradicts the definition of the
        measure.

    Examples
    --------
    >>> read_scores({"bm25": {"q1": 0.5, "q2": 0.25}, "dense": {"q2": 0.75}}).values.tolist()
    [[0.5, nan], [0.25, 0.75]]
    >>> seconds = {"slow": {"q1": 2.5}, "fast": {"q1": 0.5}}
    >>> read_scores(seconds, measure="latency", lower_is_better=True).lower_is_better
    True
    """
    name = None if measure is None else str(measure)
    if isinstance(data, Scores) and (name is None or is_same_measure(name, data.measure)):
        scores = data
    elif isinstance(data, Scores) and not data.measure:
        scores = replace(data, measure=name or "")
    else:
        scores = join_parts(_read_parts(data, format, () if name is None else (name,)), name)
    scores = scores if scale is None else scores.with_scale(scale)
    return scores if lower_is_better is None else scores.with_direction(lower_is_better)


def read_scores_by_measure(
    data: Any,
    measures: Sequence[str | Measure] | None = None,
    *,
    lower_is_better: Iterable[str] = (),
    format: str = "auto",
) -> dict[str, Scores]:
    """Read per-topic scores of several measures, by default all, as :func:`read_scores` does.

    Keys are the names in `measures`, or else those in the data. Scores that do not name their
    measure have the only name in `measures` as key, or an empty key without `measures`; several
    names are an error.

    >>> scores = {"slow": {"q1": {"RR": 0.5, "latency": 2.5}}}
    >>> by_measure = read_scores_by_measure(scores, lower_is_better=["latency"])
    >>> [scores.lower_is_better for scores in by_measure.values()]
    [False, True]
    """
    names = [str(measure) for measure in measures] if measures is not None else []
    parts = _read_parts(data, format, names)
    unnamed_part = next((part for part in parts if not part.list_labels("measure")), None)
    if unnamed_part is not None and len(set(names)) > 1:
        raise InputError(
            f"expected names of the measures {', '.join(dict.fromkeys(names))}, got scores of one"
            " measure without a name",
            source=unnamed_part.source,
        )
    if not names and unnamed_part is None:
        names = [name for part in parts for name in part.list_labels("measure")]
    scores_by_measure = {name: join_parts(parts, name) for name in dict.fromkeys(names)}
    if not names:
        scores = join_parts(parts, None)
        scores_by_measure = {scores.measure: scores}
    return set_directions(scores_by_measure, lower_is_better)


def set_directions(
    scores_by_measure: Mapping[str, Scores], lower_is_better: Iterable[str]
) -> dict[str, Scores]:
    """Return the scores, declaring that lower scores are better for the listed measures."""
    if isinstance(lower_is_better, str):
        raise PolicyError(f"lower_is_better must be a list, got {quote(lower_is_better)}")
    directed_scores = dict(scores_by_measure)
    for name in lower_is_better:
        if list(directed_scores) == [""]:
            reason = f"expected scores of {quote(name)}, got scores of an unnamed measure"
            raise PolicyError(f"{reason}; name the measure")
        if name not in directed_scores:
            raise PolicyError(
                f"unknown measure {name!r}, declared as lower is better; expected one of:"
                f" {list_some(scores_by_measure, 10)}"
            )
        directed_scores[name] = directed_scores[name].with_direction(lower_is_better=True)
    return directed_scores


def _read_parts(data: Any, layout: str, requested: Sequence[str]) -> list[ScorePart]:
    check_choice("format", layout, FORMATS)
    if isinstance(data, (str, PathLike)):
        name, path = split_name(fspath(data))
        return [read_file(Source(path), layout, requested, name)]
    if hasattr(data, "dims") and hasattr(data, "to_dataframe"):
        # xarray: a Dataset of measures, or a DataArray, which may be named after its measure.
        data = data if hasattr(data, "data_vars") else data.to_dataset(name=data.name or "score")
        data = data.to_dataframe().reset_index()
    source = ScoreSource("a table" if is_frame(data) else "scores", requested=requested)
    with add_source(source.name):
        if isinstance(data, Scores):
            return [_convert_scores({data.measure or None: data})]
        if isinstance(data, Mapping):
            if data and all(isinstance(value, Scores) for value in data.values()):
                return [_convert_scores({str(name): scores for name, scores in data.items()})]
            return [read_mapping(data, source)]
        if is_frame(data):
            return [replace(read_table(read_frame(data, source)), source=source.name)]
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        parts = [part for item in data for part in _read_parts(item, layout, requested)]
        if parts:
            _warn_of_numbered_rows(parts)
            return parts
    raise InputError(
        "expected scores as a file, a data frame, a mapping or a list of these, got"
        f" {'an empty list' if data == [] else type(data).__name__}"
    )


def _warn_of_numbered_rows(parts: Sequence[ScorePart]) -> None:
    """Warn if several sources have no topics, so that their rows are paired by position."""
    sources = [part.source for part in parts if not part.has_topics]
    if len(sources) > 1:
        warn(
            f"{list_some(sources, 3)} have no column of topics, so their rows are paired in order;"
            " add a column topic to pair rows of the same topic"
        )


def _convert_scores(scores_by_measure: Mapping[str | None, Scores]) -> ScorePart:
    frames = []
    for name, scores in scores_by_measure.items():
        topic, system, *shard = (
            index.ravel().tolist() for index in np.indices(scores.values.shape)
        )
        labels = {
            "measure": name,
            "topic": [scores.topics[k] for k in topic],
            "system": [scores.systems[k] for k in system],
            "shard": [scores.shards[k] for k in shard[0]] if shard else None,
        }
        frames.append(make_score_frame(labels, scores.values.ravel().tolist()))
    directions = {
        name: scores.lower_is_better
        for name, scores in scores_by_measure.items()
        if scores.has_direction
    }
    axes = {scores.axis for scores in scores_by_measure.values()} - {""}
    if len(axes) > 1:
        raise InputError("expected scores by shard or by replicate, got both")
    return replace(complete_part(pl.concat(frames), directions), axis=next(iter(axes), AXES[0]))


FORMATS = ("auto", "csv", "tsv", "json", "jsonl", "parquet", "trec")
"""Formats of scores; `auto` detects the format by the suffix or, also for TSV, by the content."""
_NO_SEPARATOR = "expected columns separated by commas, tabs or semicolons"


def read_file(
    file: Source, layout: str, requested: Sequence[str] = (), name: str | None = None
) -> ScorePart:
    """Read a file; `name` is the name of its only system, in place of any name in the file."""
    source = ScoreSource(file.name, name or file.stem, requested)
    with add_source(source.name):
        part = _read_bytes(file.read(), source, layout, file.suffix)
        systems = sorted(part.list_labels("system"))
        if name is not None and len(systems) > 1:
            listing = list_some(map(quote, systems), 3)
            raise InputError(f"expected one system after {quote(f'{name}=')}, got {listing}")
        frame = part.frame if name is None else part.frame.with_columns(system=pl.lit(name))
        return replace(part, frame=frame, source=source.name)


def _read_bytes(raw: bytes, source: ScoreSource, layout: str, suffix: str) -> ScorePart:
    if layout == "auto":
        layout = FORMAT_OF_SUFFIX.get(suffix, "parquet" if raw.startswith(b"PAR1") else "")
        # Files with lines of trec_eval may also have the suffix of TSV.
        layout = "" if layout == "tsv" else layout
    if layout == "parquet" and raw.strip():
        return read_table(read_parquet(raw, source))
    text = decode_text(raw, source.name)
    line, first_line = next(split_lines(text), (1, ""))
    if not first_line:
        raise InputError("expected scores, got an empty file")
    layout = layout or _detect_layout(first_line)
    if layout in {"json", "jsonl"}:
        return read_json(text, source, is_jsonl=layout == "jsonl")
    if layout == "trec":
        return read_lines(text, source)
    default = "\t" if layout == "tsv" else ","
    separator = find_separator(first_line, default, SEPARATORS) or default
    if separator not in first_line and "|" in first_line:
        raise InputError(f"{_NO_SEPARATOR}, got {quote(first_line)}", line=1)
    columns = read_csv_columns(raw, separator, source.name)
    if not columns.lines:
        raise InputError("expected scores below the header, got none", line=line)
    columns = replace(columns, names=[str(name).strip() for name in columns.names])
    return read_table(ScoreTable(source, columns))


def _detect_layout(first_line: str) -> str:
    """Detect the format of a text from its first line."""
    line = first_line.strip()
    if line.startswith(("{", "[")):
        return "jsonl" if line.startswith("{") and line.endswith("}") else "json"
    separator = find_separator(first_line, "\t", SEPARATORS)
    if is_score_line(first_line) and separator in {"\t", None}:
        return "trec"
    if separator is None:
        raise InputError(f"{_NO_SEPARATOR}, got {quote(first_line)}", line=1)
    return "tsv" if separator == "\t" else "csv"
