"""Read gold nuggets: the facts that a good answer to a topic contains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import InputError, PolicyError, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.pairs import number_values
from cranfield.sources.chunks import Source
from cranfield.sources.columns import Table, read_table, transpose_rows
from cranfield.sources.schemas import (
    FileColumn,
    Lines,
    Schema,
    declare_optional,
    differs,
    is_repeated,
    suspect_unnamed,
)
from cranfield.sources.values import (
    BOOLEAN_GRADES,
    LABEL,
    NAME,
    Cells,
    ValueKind,
    convert_booleans,
    is_absent,
    parse_number,
)

MAX_NUMBER = 1e15  # Maximum weight, length or position, so that sums and products remain finite

_IMPORTANCE_LABELS = {"vital": 1.0, "okay": 0.0, "ok": 0.0}
"""Values of the labels of importance."""

_SUPPORT_LABELS = {
    **dict.fromkeys(("support", "full", "fullsupport", "fs", "supported", "fullysupported"), 1.0),
    **dict.fromkeys(("partialsupport", "partial", "ps", "partiallysupported"), 0.5),
    **dict.fromkeys(("notsupport", "nosupport", "none", "ns", "notsupported", "unsupported"), 0.0),
    **{"yes": 1.0, "no": 0.0},
}
"""Values of the labels of support, written without blanks, hyphens and underscores."""


def _parse_amount(cell: Any) -> float | None:
    amount = parse_number(cell)
    return amount if amount is not None and 0 <= amount <= MAX_NUMBER else None


def _describe_amount_problem(cell: Any) -> str:
    upper_bound = f" and at most {MAX_NUMBER:g}" if (parse_number(cell) or 0.0) > MAX_NUMBER else ""
    return f"not a number of at least 0{upper_bound}"


def _parse_importance(cell: Any) -> float | None:
    return _IMPORTANCE_LABELS.get(str(cell).strip().lower())


def _parse_support(cell: Any) -> float | None:
    if cell is None:
        return None
    word = str(cell).strip().lower().translate({ord(blank): None for blank in " -_"})
    degree = _SUPPORT_LABELS.get(word, parse_number(cell))
    return degree if degree is not None and 0 <= degree <= 1 else None


def _parse_yes_or_no(cell: Any) -> float | None:
    degree = BOOLEAN_GRADES.get(str(cell).strip().lower(), _parse_support(cell))
    return degree if degree in {0.0, 1.0} else None


TEXT = ValueKind(lambda cell: cell if isinstance(cell, str) else None, problem="not text")

AMOUNT = ValueKind(_parse_amount, pl.Float64, _describe_amount_problem, is_absent)  # A number >= 0

IMPORTANCE = ValueKind(
    _parse_importance,
    pl.Float64,
    "not vital or okay; numbers require a column weight or vital (yes or no)",
    is_absent,
)
"""1 for `vital`, 0 for `okay`."""

SUPPORT = ValueKind(
    _parse_support,
    pl.Float64,
    "not full, partial, none or a number from 0 to 1",
    is_absent,
    prepare=partial(convert_booleans, noun="degrees of support"),
)
"""A degree of support: a word, or a number from 0 to 1."""

YES_OR_NO = ValueKind(_parse_yes_or_no, pl.Float64, "not yes or no", is_absent)


TOPIC = FileColumn("topic", LABEL)
NUGGET = FileColumn("nugget", LABEL)
SYSTEM = declare_optional("system", NAME)
ANSWER_COLUMNS = ("judge", "assessor", "replicate")
"""Columns that distinguish several answers, or several labels of one answer."""


def count_characters(text: str) -> int:
    """Count the characters that are not white space, as in TREC question answering."""
    return len("".join(text.split()))


def list_inputs(data: Any) -> list[Any]:
    """List the inputs: the files of a list of files, or else the data as a whole."""
    is_file_list = isinstance(data, (list, tuple)) and all(
        isinstance(file, (str, PathLike)) for file in data
    )
    return [*data] if is_file_list and data else [data]


def get_stem(data: Any) -> str:
    """Return the stem of a file as the name of its system; `run` for other inputs."""
    return Source(fspath(data)).stem if isinstance(data, (str, PathLike)) else "run"


def warn_of_missing_answers(
    is_answered: Bools, topics: Sequence[str], systems: Sequence[str]
) -> None:
    """Warn of missing answers, by a mask of shape (topics, systems)."""
    cells = np.argwhere(~is_answered.T)
    if len(cells):
        examples = (f"topic {quote(topics[t])} of {quote(systems[s])}" for s, t in cells)
        answers = f"{inflect(len(cells), 'answer')} {'is' if len(cells) == 1 else 'are'}"
        warn(f"{answers} missing and counted as 0: {list_some(examples, 5)}")


def check_topics(
    systems: Iterable[str],
    known_systems: Collection[str],
    skipped_topics: Collection[str],
    topics: Collection[str],
    *,
    text: str,
    gold: str,
    source: str,
) -> None:
    """Warn of topics without a gold standard; refuse a system that has only such topics.

    `known_systems` have a text of a topic with a gold standard. `text` and `gold` are the nouns for
    a text of a system and for the gold standard.
    """
    listing = list_some(map(quote, skipped_topics), 3)
    for name in systems:
        if name not in known_systems:
            raise InputError(
                f"system {quote(name)} has no {text} for a topic with {gold}; topics without"
                f" {gold}: {listing}; topics with {gold}: {list_some(map(quote, topics), 3)}",
                source=source,
            )
    if skipped_topics:
        texts = f"{source}: answers to" if text == "answer" else "texts of"
        warn(f"{texts} {inflect(len(skipped_topics), 'topic')} without {gold} skipped ({listing})")


def check_name_used(name: str | None, is_used: bool) -> None:
    """Raise an error if the name of a system is set although the answers name their systems."""
    if name is not None and not is_used:
        raise PolicyError(f"name={quote(name)} has no effect, as the answers name their systems")


def name_systems(table: Table, name: str | None, data: Any) -> Table:
    """Add the name of the system, by default the stem of the file, to rows that do not name it."""
    table.check(suspect_unnamed("system"))
    check_name_used(name, bool(table.frame["system"].is_null().all()))
    system = pl.col("system").fill_null(name or get_stem(data))
    return replace(table, frame=table.frame.with_columns(system))


_NTCIR_COLUMNS = ("topic", "nugget", "weight", "vital_length")


def _flatten_nuggets(data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Convert records of AutoNuggetizer, with lists of nuggets, to columns; None for other JSON."""
    records = data if isinstance(data, list) else [data]
    if not all(isinstance(r, Mapping) and isinstance(r.get("nuggets"), list) for r in records):
        return None
    cells: list[tuple[Any, ...]] = []
    rows: list[int] = []
    for row, record in enumerate(records):
        names = [*record]
        topic = next((record[names[k]] for k in TOPIC.find_in(names)), None)
        for nugget in record["nuggets"]:
            if not isinstance(nugget, Mapping) or "text" not in nugget:
                reason = f"expected nuggets with a text, got {quote(nugget)}"
                raise InputError(reason, source=source, topic=str(topic))
            cells.append((topic, nugget["text"], nugget.get("importance")))
        rows += [row] * len(record["nuggets"])
    return dict(transpose_rows(("topic", "nugget", "importance"), cells)), rows


NUGGETS = Schema(
    "table of nuggets",
    (
        *(TOPIC, NUGGET, declare_optional("weight", AMOUNT)),
        declare_optional("vital_length", AMOUNT, "vital length", noun="vital length"),
        declare_optional("importance", IMPORTANCE),
        declare_optional("vital", YES_OR_NO),
        declare_optional("assessor", LABEL, "worker"),
    ),
    noun="nuggets",
    lines=Lines(_NTCIR_COLUMNS, 4, has_more=True),
    tuples=_NTCIR_COLUMNS,
    read_nested=_flatten_nuggets,
    suspicions={
        "expected importance or vital, got both": pl.col("importance").is_not_null()
        & pl.col("vital").is_not_null(),
        "nugget {nugget} occurs twice": is_repeated("topic", "nugget", "assessor")
        & pl.col("assessor").is_null(),
        "nugget {nugget} occurs twice for assessor {assessor}": is_repeated(
            "topic", "nugget", "assessor"
        ),
        "nugget {nugget} has more than one weight": differs("weight", "topic", "nugget"),
        "nugget {nugget} has more than one vital length": differs(
            "vital_length", "topic", "nugget"
        ),
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class Nuggets:
    """Gold nuggets of all topics; returned by :func:`read_nuggets`.

    Attributes
    ----------
    topics
        Ids of the topics.
    ids
        Ids of the nuggets, unique within a topic.
    topic
        Index of the topic of each nugget; shape (nuggets,).
    weight
        Weight of each nugget, 0 or more; NaN if missing; shape (nuggets,).
    vital_length
        Length of the vital string of each nugget in characters; NaN if missing; shape (nuggets,).
    vital
        1 for a vital nugget, 0 for an okay nugget, NaN without a label; shape (nuggets,).
    """

    topics: tuple[str, ...]
    ids: tuple[str, ...]
    topic: Ints
    weight: Floats
    vital_length: Floats
    vital: Floats

    def total(self, values: Floats) -> Floats:
        """Sum values of nuggets by topic; shape (topics,)."""
        sums = np.bincount(self.topic, weights=values, minlength=len(self.topics))
        return sums.astype(np.float64)

    @property
    def indices(self) -> pl.DataFrame:
        """Data frame with the columns `topic`, `nugget` and `index`, the index of the nugget."""
        topics = pl.Series("topic", self.topics, dtype=pl.String).gather(self.topic)
        ids = pl.Series("nugget", self.ids, dtype=pl.String)
        return pl.DataFrame([topics, ids, pl.Series("index", np.arange(len(ids)))])

    def __repr__(self) -> str:
        size = inflect(len(self.topics), "topic")
        return f"Nuggets({size}, {inflect(len(self.ids), 'nugget')})"


def read_nuggets(data: Any) -> Nuggets:
    """Read gold nuggets.

    Parameters
    ----------
    data
        A table with the columns `topic` and `nugget` and any of `weight`, `vital_length`
        (characters) and `importance` (vital, okay or ok) or `vital` (yes or no): CSV, TSV, JSON,
        JSON lines, Parquet, a data frame, or an iterable of records. With a column `assessor`, a
        nugget has a row for the vote of each assessor. Or JSON of AutoNuggetizer, with a list of
        `nuggets` for each `qid`. Or a file of NTCIR, such as `1C2.nuggets`, with topic, nugget,
        weight and vital string length on each line. Or a mapping `{topic: [nugget, ...]}` or
        `{topic: {nugget: value}}`, where a value is a weight, `"vital"` or `"okay"`, a list of such
        votes, or a mapping of the columns above.

    Returns
    -------
    Nuggets
        With votes but no weights, the weight of a nugget is its number of vital votes divided by
        the maximum over the topic's nuggets (Lin and Demner-Fushman 2006); with one assessor, vital
        nuggets thus have weight 1 and others 0, as in TREC. With several assessors, a nugget is
        vital if more than half of their votes are vital.

    Raises
    ------
    InputError
        With file, line and reason: a repeated nugget, a negative weight or length, a label that is
        not vital or okay, a nugget without a value that other nuggets of its topic have.

    Examples
    --------
    >>> nuggets = read_nuggets({"q1": {"born": "vital", "died": "vital", "hair": "okay"}})
    >>> nuggets, nuggets.weight.tolist()
    (Nuggets(1 topic, 3 nuggets), [1.0, 1.0, 0.0])
    """
    if isinstance(data, Nuggets):
        return data
    if isinstance(data, Mapping):
        data = list(_iterate_nuggets(data))
    return build_nuggets(read_table(data, NUGGETS))


def _iterate_nuggets(data: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for topic, nuggets in data.items():
        if isinstance(nuggets, (list, tuple)):
            yield from ({"topic": topic, "nugget": nugget} for nugget in nuggets)
            continue
        if not isinstance(nuggets, Mapping):
            expected = f"expected {{nugget: weight}} or a list of nuggets for topic {quote(topic)}"
            raise InputError(f"{expected}, got {type(nuggets).__name__}", source="nuggets")
        for nugget, value in nuggets.items():
            row = {"topic": topic, "nugget": nugget}
            if isinstance(value, Mapping):
                yield {**value, **row}
            elif isinstance(value, (list, tuple)):
                votes = enumerate(value)
                yield from ({**row, "importance": vote, "assessor": k} for k, vote in votes)
            else:
                yield {**row, "importance" if isinstance(value, str) else "weight": value}


def build_nuggets(table: Table) -> Nuggets:
    n_vital, n_votes = pl.col("n_vital"), pl.col("n_votes")
    frame = table.frame.with_columns(importance=pl.coalesce("importance", "vital"))
    rows = frame.group_by("topic", "nugget", maintain_order=True).agg(
        pl.col("weight", "vital_length").drop_nulls().first(),
        n_vital=pl.col("importance").sum(),
        n_votes=pl.col("importance").count(),
    )
    # Votes are weights only if no nugget of the topic has a weight.
    has_votes_only = (n_votes > 0) & pl.col("weight").is_null().all().over("topic")
    rows = rows.with_columns(
        vote_weight=pl.when(has_votes_only).then(n_vital / n_vital.max().over("topic").clip(1)),
        vital=pl.when(n_votes > 0).then((n_vital > n_votes / 2).cast(pl.Float64)),
    )
    topics, topic_of = number_values(rows["topic"])
    explicit_weights, weight, vital_length, vital = (
        rows.select(
            pl.col("weight").fill_null(np.nan),
            pl.coalesce("weight", "vote_weight").fill_null(np.nan).alias("any weight"),
            pl.col("vital_length", "vital").fill_null(np.nan),
        )
        .to_numpy()
        .T.copy()
    )
    nuggets = Nuggets(
        tuple(topics),
        tuple(rows["nugget"]),
        topic_of.astype(np.int64),
        weight,
        vital_length,
        vital,
    )
    _check_complete_topics(nuggets, table.source)
    _warn_contradictions(nuggets, explicit_weights, table.source)
    return nuggets


def _warn_contradictions(nuggets: Nuggets, weights: Floats, source: str) -> None:
    """Warn of an okay nugget that weighs more than a vital nugget of its topic."""
    max_okay = np.full(len(nuggets.topics), -np.inf)
    is_okay = (nuggets.vital == 0) & ~np.isnan(weights)
    np.maximum.at(max_okay, nuggets.topic[is_okay], weights[is_okay])
    rows = np.flatnonzero((nuggets.vital == 1) & (weights < max_okay[nuggets.topic]))
    if rows.size:
        examples = list_some((quote(nuggets.ids[row]) for row in rows), 3)
        reason = "with less weight than an okay nugget of the topic; weights are used unchanged"
        warn(f"{source}: {inflect(rows.size, 'vital nugget')} ({examples}) {reason}")


def _check_complete_topics(nuggets: Nuggets, source: str) -> None:
    """Raise an error if only some nuggets of a topic have a weight, a length or a label."""
    for label, values in (
        ("weight", nuggets.weight),
        ("vital string length", nuggets.vital_length),
        ("importance", nuggets.vital),
    ):
        is_missing = np.isnan(values)
        is_partial = nuggets.total(is_missing * 1.0) * nuggets.total(~is_missing * 1.0) > 0
        rows = np.flatnonzero(is_missing & is_partial[nuggets.topic])
        if rows.size:
            topic = nuggets.topics[nuggets.topic[rows[0]]]
            reason = f"nugget {quote(nuggets.ids[rows[0]])} has no {label}, but other nuggets of"
            raise InputError(f"{reason} its topic have one", source=source, topic=topic)
