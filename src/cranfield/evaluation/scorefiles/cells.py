"""Read cells of score tables, recognise names of measures, and join scores of several sources."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, add_source, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.pairs import number_values
from cranfield.measures.grammar import find_measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import suggests_lower
from cranfield.sources.schemas import Schema, declare_optional, fold_name
from cranfield.sources.summaries import ends_in_summary, find_summaries
from cranfield.sources.values import (
    LABEL,
    NO_SCORE,
    NUMBER,
    Cells,
    is_absent,
    mask_absent,
)

SCORES = Schema(
    "table of scores",
    (
        declare_optional("topic", LABEL, "topic of scores"),
        *(declare_optional("system", LABEL), declare_optional("measure", LABEL)),
        declare_optional("shard", LABEL, "shard of scores"),
        declare_optional("replicate", LABEL),
        declare_optional("score", NUMBER, "value"),
    ),
    decisive_kinds=("status", "outcome", "weight", "unit of measurement"),
)


def is_missing(cell: Any) -> bool:
    return is_absent(cell, NO_SCORE)


def convert_labels(
    cells: Cells, kind: str, lines: Sequence[int] | pl.Series | None = None
) -> pl.Series:
    """Read labels of topics, systems, measures or shards; raise an error for an empty label."""
    labels, invalid_row = LABEL.convert_column(kind, cells)
    if invalid_row is not None:
        line = None if lines is None else lines[invalid_row]
        raise InputError(LABEL.describe_invalid(kind, cells[invalid_row]), line=line)
    return labels


def read_numbers(cells: Cells) -> tuple[pl.Series, pl.Series]:
    """Read finite numbers, null for other cells; also return the rows of other nonempty cells."""
    numbers, _ = NUMBER.convert_column("score", cells)
    rows = numbers.is_null().arg_true()
    other_cells = cells[rows] if isinstance(cells, pl.Series) else [cells[row] for row in rows]
    return numbers, rows.filter(~mask_absent(other_cells, NO_SCORE))


def find_roles(names: Sequence[str], source: str) -> dict[str, int]:
    """Return the column index of each role, such as topic or score, that has a column."""
    roles = SCORES.find_positions(names, source)
    # `name` and `q` are too common for the schema, and `q` may be a system.
    name_columns = [k for k, name in enumerate(names) if fold_name(name) == "name"]
    if "system" not in roles and len(name_columns) == 1:
        roles["system"] = name_columns[0]
    if "topic" not in roles and names and fold_name(names[0]) == "q":
        roles["topic"] = 0
    return roles


MAX_NAMES = 50  # maximum number of names that are tested for being measures; each has to be parsed


_MEASURE_NAMES = """
acc accuracy auc bertscore bleu chrf correctness coverage em exactmatch f1 fmeasure fscore
faithfulness groundedness hits hitrate hole meteor pass pmrr prec precision rec recall relevance
relevancy rouge rougel success answercorrectness answerrelevance answerrelevancy averageprecision
contextentityrecall contextprecision contextrecall contextrelevance meanrank medianrank
reciprocalrank vitalscore allscore strictvitalscore strictallscore count len length n queries tokens
coherence completeness conciseness factuality fluency hallucination harmfulness helpfulness
instructionfollowing toxicity
"""
_UNKNOWN_MEASURES = frozenset(_MEASURE_NAMES.split())
"""Names, as normalised by `fold_name`, of measures and counts of other tools."""

_PREFIX = re.compile(r"(evals?|metrics?|scores?|outputs?|feedback)[/._]", re.IGNORECASE)
_SUFFIX = re.compile(r"([@_ -]|_?at_?)?\d+$|([/_ -](score|mean|avg|full|v\d+))$", re.IGNORECASE)
"""Texts that other tools write before and after the name of a measure."""

_EVALUATOR_SCORE = re.compile(r"(outputs|feedback)\..+|.+/score|(.+\.)?([^.]+)\.\3", re.IGNORECASE)
"""Names of scores by evaluators of Azure AI, TruLens, Vertex AI and MLflow, of any name."""

_LAST_WORD = re.compile(r".*[_ -](precision|recall|f1|accuracy)", re.IGNORECASE)
"""Names that end in a measure; if all end in the same one, they are names of systems."""

CUTOFF = re.compile(r"@\d")
_SETTING = re.compile(r"(pass|len|length|tokens|count)[_-]?\d+")  # as in the system `dense_len32`
_WORD_BOUNDARY = re.compile(r"[\s_/|:.()\[\]-]+")


@lru_cache(maxsize=4096)
def resembles_measure(name: str) -> bool:
    """Return True for names of measures of cranfield or other tools, with or without a cutoff."""
    if _EVALUATOR_SCORE.fullmatch(name):
        return True
    # `q`, `p_1`, `r_2` and sentences are more likely names of topics or systems.
    family = _PREFIX.sub("", name, count=1)
    while (shorter := _SUFFIX.sub("", family)) != family:
        family = shorter
    if re.match("[a-z]{1,2}([^A-Za-z]|$)|.* ", name):
        return not {fold_name(name), fold_name(family)}.isdisjoint(_UNKNOWN_MEASURES)
    return (
        not {fold_name(name), fold_name(family)}.isdisjoint(_UNKNOWN_MEASURES)
        or suggests_lower(name)
        or find_measure(name) is not None
        or (len(family) > 2 and find_measure(family) is not None)
    )


def _refuse_measures_of_systems(names: Sequence[str], kind: str) -> None:
    """Refuse names such as `bm25_ndcg` of several systems and several measures."""
    if all(map(resembles_measure, names)) or all(map(_LAST_WORD.fullmatch, names)):
        return
    for measure_position in (0, 1):
        pairs = {}
        # Names of several words are more likely topics.
        for name in (name for name in names if name.count(" ") < 2):
            splits = [(name[: m.start()], name[m.end() :]) for m in _WORD_BOUNDARY.finditer(name)]
            # The longest measure that precedes a system, or that follows one.
            for split in (splits if measure_position else splits[::-1])[:3]:
                measure, system = split[measure_position], split[1 - measure_position]
                is_measure = resembles_measure(measure) or find_measure(measure) is not None
                if len(measure) > 1 and system and is_measure and not _SETTING.fullmatch(measure):
                    pairs[name] = measure, system
                    break
        n_measures, n_systems = (len({pair[k] for pair in pairs.values()}) for k in (0, 1))
        if 1 < n_measures < len(pairs) and 1 < n_systems < len(pairs):
            listing = list_some(dict.fromkeys(measure for measure, _ in pairs.values()), 3)
            raise InputError(
                f"expected {kind} of systems or of measures, got both in one name, as"
                f" {list_some(map(quote, pairs), 3)} ({listing}); write a table with columns topic,"
                f" system, measure and score, or keep the {kind} of one measure, named by system"
            )


def are_measures(names: Iterable[str], requested: Sequence[str] = (), kind: str = "") -> bool:
    """Return True if most names are of measures, or one is of a requested measure.

    `kind` is the noun for the names in messages; without it, mixed names are not refused.
    """
    sample = list(islice(names, MAX_NAMES))
    if any(is_same_measure(name, measure) for name in sample for measure in requested):
        return True
    if kind:
        _refuse_measures_of_systems(sample, kind)
    last_words = {name: match[1] for name in sample if (match := _LAST_WORD.fullmatch(name))}
    if len({*last_words.values()}) < 2:
        last_words = {}
    measures = [name for name in sample if name in last_words or resembles_measure(name)]
    likely_names = [name for name in sample if name in measures or CUTOFF.search(name)]
    other_names = [n for n in sample if n not in likely_names and find_measure(n) is None]
    if measures and 2 * len(other_names) < len(sample):
        return True
    if not likely_names or not kind or (requested and not measures):
        return False
    advice = "a table with columns topic, system and score"
    if not measures:
        advice = f"measure=... with the name of their measure, or {advice}"
    contrast = f", but {list_some(map(quote, other_names), 3)} could not" if other_names else ""
    raise InputError(
        f"expected {kind} of systems or of measures, got {list_some(map(quote, likely_names), 3)},"
        f" which could be measures{contrast}; for measures of one system, pass"
        f" measure={likely_names[0]!r}; for systems,"
        f" {f'remove these {kind}, or ' if measures else ''}pass {advice}"
    )


def is_same_measure(name: str, other: str) -> bool:
    """Return True if two names are of the same measure."""
    measure = find_measure(name)
    return name == other or (measure is not None and measure == find_measure(other))


def choose_measure(names: Sequence[str], measure: str | None) -> str:
    """Return the name of the requested measure among names; the only name if none is requested."""
    if measure is None and len(names) == 1:
        return names[0]
    listing = list_some(names, 10)
    if measure is None:
        example = next(filter(resembles_measure, names), names[0])
        raise InputError(
            f"expected scores of one measure, got {listing}; select one, as in measure={example!r}"
        )
    if measure in names:
        return measure
    matches = [name for name in names if is_same_measure(name, measure)]
    matches = matches or [name for name in names if name.casefold() == measure.casefold()]
    if len(matches) > 1:
        raise InputError(
            f"measure {quote(measure)} occurs under several names; select one of:"
            f" {', '.join(matches)}"
        )
    if not matches:
        raise InputError(f"unknown measure {quote(measure)}; expected one of: {listing}")
    return matches[0]


OVERALL_TOPIC = "all"  # topic of the overall values of trec_eval and ir_measures
RANGE_TOLERANCE = 1e-6  # amount by which a score may exceed the range of its measure


@dataclass(frozen=True)
class ScoreSource:
    """Source of scores, and the requested measures."""

    name: str = "scores"  # in messages
    stem: str = "run"  # name of the system if the data do not contain one
    requested: Sequence[str] = ()  # measures, which help to recognise names of measures


_COLUMNS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("measure", "topic", "system", "shard"), pl.String),
    **{"score": pl.Float64, "problem": pl.String, "line": pl.Int64},
}


def make_score_frame(
    labels: Mapping[str, Any], cells: Cells, lines: Sequence[int] | pl.Series | None = None
) -> pl.DataFrame:
    """Return the scores of cells, null if missing or invalid, with labels, lines and problems."""
    scores, rows = read_numbers(cells)
    problems = pl.Series([None] * len(scores), dtype=pl.String)
    problems = problems.scatter(
        rows, [NUMBER.describe_invalid("score", cells[row]) for row in rows]
    )
    values = {**labels, "score": scores, "problem": problems, "line": lines}
    return pl.DataFrame({name: values.get(name) for name in _COLUMNS}, _COLUMNS)


@dataclass(frozen=True)
class ScorePart:
    """Scores of one file or object."""

    frame: pl.DataFrame  # from `make_score_frame`; each column of labels is complete or empty
    directions: Mapping[str | None, bool]  # by measure, whether lower is better, if this is stated
    source: str = "scores"  # name in messages
    axis: str = "shard"  # meaning of shards: `shard` or `replicate`
    has_topics: bool = True  # whether the source names topics; otherwise rows are numbered
    repeat_advice: str = ""  # advice on rows with the same labels, for messages

    def list_labels(self, column: str) -> list[str]:
        """Return the distinct labels of a column, in order of appearance."""
        return self.frame[column].drop_nulls().unique(maintain_order=True).to_list()

    @property
    def has_shards(self) -> bool:
        return self.frame["shard"][0] is not None


def make_part(
    frame: pl.DataFrame, directions: Mapping[str | None, bool] | None = None
) -> ScorePart:
    """Return a part with the per-topic scores, without the topic `all` and other summaries."""
    topics = frame["topic"].unique()
    frame = _remove_summaries(frame, "topic", "topics")
    text_topics = sorted(topic for topic in frame["topic"].unique() if not topic.isdigit())
    if 0 < 5 * len(text_topics) <= len(topics):
        listing = list_some(map(quote, text_topics), 5)
        warn(
            f"rows {listing} are read as topics, although most topics are numbers; remove them if"
            " they summarise other rows"
        )
    return complete_part(_remove_summaries(frame, "shard", "shards or replicates"), directions)


def complete_part(
    frame: pl.DataFrame, directions: Mapping[str | None, bool] | None = None
) -> ScorePart:
    """Return a part with all scores of a frame; refuse a frame without scores."""
    if frame.is_empty():
        raise InputError(
            "expected scores by topic, got none; trec_eval prints them with -q, ir_measures with"
            " --by_query, cranfield evaluate with --by-topic, except for measures such as gm_map in"
            " format trec"
        )
    if frame["score"].is_null().all() and frame["problem"].is_null().all():
        raise InputError("expected scores, got empty cells only")
    return ScorePart(frame, directions or {})


def _remove_summaries(frame: pl.DataFrame, column: str, noun: str) -> pl.DataFrame:
    """Remove summary rows, with a warning. If all are summaries, remove them for topics only."""
    labels = frame[column].unique(maintain_order=True)
    summaries = sorted(find_summaries(labels))
    if len(summaries) == len(labels):
        return frame.clear() if column == "topic" else frame
    labels = labels.filter(~labels.is_in(summaries))
    key = pl.struct({"measure", "system", "topic", "shard"} - {column}).hash().alias("key")
    if ends_in_summary(
        labels,
        lambda: (
            frame.filter(~pl.col(column).is_in(summaries))
            .select(column, "score", key)
            .pivot("key", index=column, values="score", aggregate_function="first")
            .drop(column)
        ),
    ):
        summaries.append(labels[-1])
    if summaries:
        listing = list_some(map(quote, summaries), 5)
        warn(f"rows that summarise {noun} are skipped: {listing}; rename them if they are {noun}")
    return frame.filter(~pl.col(column).is_in(summaries).fill_null(False))


def join_parts(parts: Sequence[ScorePart], measure: str | None) -> Scores:
    """Join the scores of one measure of all parts; labels are in order of appearance."""
    measure_names: list[str | None] = []
    for part in parts:
        with add_source(part.source):
            # A part without names of measures has the scores of one unnamed measure.
            names = part.list_labels("measure")
            measure_names.append(choose_measure(names, measure) if names else None)
    _check_compatible_parts(parts, measure_names, measure)
    frames = [
        part.frame.filter(pl.col("measure").eq_missing(name))
        for part, name in zip(parts, measure_names, strict=True)
    ]
    for part, frame in zip(parts, frames, strict=True):
        _refuse_invalid_scores(frame, part)
    frame = pl.concat(frames)
    topics, topic_codes = number_values(frame["topic"])
    shards, shard_codes = number_values(frame["shard"])
    # Systems without a score of this measure are included, so that they are reported as missing.
    systems = [system for part in parts for system in part.list_labels("system")]
    values = np.full((len(topics), len(systems), len(shards)), np.nan)
    cells = topic_codes, frame["system"].replace_strict(systems, range(len(systems))), shard_codes
    values[cells] = frame["score"].fill_null(math.nan).to_numpy()
    has_shards = parts[0].has_shards
    name = measure if measure is not None else measure_names[0]
    scores = Scores(
        values if has_shards else values[:, :, 0],
        tuple(topics),
        tuple(systems),
        name or "",
        shards=tuple(shards) if has_shards else (),
        axis=parts[0].axis,
    )
    if scores.definition is not None:
        low, high = scores.definition.info.range
        is_outside = (values < low - RANGE_TOLERANCE) | (values > high + RANGE_TOLERANCE)
        if is_outside.any():
            topic, system, _ = np.argwhere(is_outside)[0]
            warn(
                f"{name} has {inflect(int(is_outside.sum()), 'score')} outside its range {low:g} to"
                f" {high:g}, such as {values[is_outside][0]:g} of {quote(systems[system])} on"
                f" topic {quote(topics[int(topic)])}; check whether they are percentages, or codes"
                " for failures"
            )
    directions = {
        part.directions[name]
        for part, name in zip(parts, measure_names, strict=True)
        if name in part.directions
    }
    if len(directions) > 1:
        raise InputError(
            "sources disagree whether lower or higher scores are better; correct the direction in"
            " one of them"
        )
    return scores.with_direction(directions.pop()) if directions else scores


def _refuse_invalid_scores(frame: pl.DataFrame, part: ScorePart) -> None:
    """Raise an error for the first invalid score, or second score of a system and topic."""
    is_first = pl.struct("topic", "system", "shard").is_first_distinct()
    frame = frame.with_columns(is_first=is_first)
    invalid_rows = frame.filter(~pl.col("is_first") | pl.col("problem").is_not_null())
    for row in invalid_rows[:1].iter_rows(named=True):
        scope = "" if row["shard"] is None else f" in {part.axis} {quote(row['shard'])}"
        repeat = f"system {quote(row['system'])} has two scores{scope}{part.repeat_advice}"
        reason = row["problem"] if row["is_first"] else repeat
        raise InputError(reason, source=part.source, line=row["line"], topic=row["topic"])


def _check_compatible_parts(
    parts: Sequence[ScorePart], measure_names: Sequence[str | None], measure: str | None
) -> None:
    """Check that parts have the same axes and measure, and no system in common."""
    first, first_name = parts[0], measure_names[0]
    for part, name in zip(parts[1:], measure_names[1:], strict=True):
        if part.has_topics != first.has_topics:
            numbered_part, other_part = (first, part) if part.has_topics else (part, first)
            raise InputError(
                f"expected a column of topics, as in {other_part.source}, got rows without a topic"
                " (an index 0, 1, ... only numbers rows); add a column topic",
                source=numbered_part.source,
            )
        if part.has_shards != first.has_shards:
            sharded_part, other_part = (part, first) if part.has_shards else (first, part)
            raise InputError(
                f"expected scores without {sharded_part.axis}s, as in {other_part.source},"
                f" got scores by {sharded_part.axis}",
                source=sharded_part.source,
            )
        if part.axis != first.axis:
            reason = f"expected scores by {first.axis}, as in {first.source}, got {part.axis}s"
            raise InputError(reason, source=part.source)
        if measure is not None or name == first_name:
            continue
        if name is None or first_name is None:
            named_part, other_part = (first, part) if name is None else (part, first)
            raise InputError(
                f"has scores of {name or first_name}, but {other_part.source} does not name its"
                f" measure; pass measure={name or first_name!r} if it is the same",
                source=named_part.source,
            )
        if not is_same_measure(name, first_name):
            reason = f"expected scores of {first_name}, as in {first.source}, got {name}"
            raise InputError(reason, source=part.source)
    part_of: dict[str, ScorePart] = {}
    for part in parts:
        for system in part.list_labels("system"):
            if system in part_of:
                other = part_of[system]
                reason = f"duplicate system {quote(system)}, also in {other.source}"
                if len(part.list_labels("system")) == len(other.list_labels("system")) == 1:
                    reason += "; rename one of them (NAME=FILE names a file)"
                raise InputError(reason, source=part.source)
            part_of[system] = part
