"""Preference measures of trec_eval: how many judged preferences a ranking fulfils.

A preference is a pair of documents of which an assessor's group prefers the first. Groups may
contradict each other; within one, preferences are transitive.

Source: Carterette, Bennett, Chickering and Dumais (2008), Here or there: preference judgments for
relevance; trec_eval 10, whose formats `prefs`, `qrels_prefs` and `qrels_jg` these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError, quoted
from cranfield.sources.schemas import Column, Lines, Schema
from cranfield.sources.tables import read_table
from cranfield.sources.values import ID, NUMBER

COLUMNS = {
    "prefs": ("topic", "group", "part", "doc", "level"),
    "qrels_prefs": ("topic", "group", "doc", "level"),
    "qrels_jg": ("topic", "group", "doc", "level"),
}
"""The columns of each format, with blanks between them."""

PREFERENCES = (
    *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret", "prefs_simp"),
    *("prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel", "prefs_simp_ret", "prefs_pair_ret"),
    *("prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret", "prefs_simp_imp", "prefs_pair_imp"),
    "prefs_avgjg_imp",
)
"""The measures, in the order of trec_eval's lines."""

Matrix = NDArray[np.bool_]


def read_preferences(path: Any, form: str) -> pl.DataFrame:
    """Read judgments by group, in a format of :data:`COLUMNS`.

    Parameters
    ----------
    path
        A file of lines; those that begin with `#` are comments.
    form
        `prefs` (topic, group, part of the group, document, level), `qrels_prefs` or `qrels_jg`
        (topic, group, document, level).

    Returns
    -------
    polars.DataFrame
        topic, group, part, doc, level: a number, where higher is preferred and 0 is not relevant.

    Raises
    ------
    InputError
        A line has other columns, or a level that is no number from 0; with its place.
    """
    names = COLUMNS[form]
    schema = Schema(
        f"table of {form}",
        (*(Column(name, ID) for name in names[:-1]), Column("level", NUMBER)),
        formats=frozenset(),
        lines=Lines(names, len(names), cut=_cut),
    )
    table = read_table(path, schema)
    if form != "qrels_jg":
        low = table.frame["level"] < 0
        table.refuse(low, lambda row: f"level {row['level']:g} is below 0")
    part = [] if "part" in names else [pl.lit("0").alias("part")]
    return table.frame.with_columns(part)


def _cut(line: str) -> list[str]:
    return [] if line.startswith("#") else line.split()


@dataclass(frozen=True)
class _Counts:
    """Preferences of one group, or weights of them: fulfilled and possible.

    `both` documents were retrieved, one (`implied`), or none.
    """

    ful_both: float
    both: float
    ful_implied: float
    implied: float
    none: float


@dataclass(frozen=True)
class _Group:
    """What one group prefers of a topic's documents, in the order of the ranking."""

    preferred: Matrix
    """Whether the document of a row is preferred to that of a column; shape (docs, docs)."""
    relevant: Matrix
    """Documents with a level above 0; shape (docs,)."""
    nonrelevant: Matrix
    """Documents with level 0."""
    whole: bool
    """Whether the group judged its documents in one part, and so completely."""


def topic_values(judged: pl.DataFrame, ranking: list[str]) -> dict[str, float]:
    """Return the preference measures of one topic.

    Parameters
    ----------
    judged
        The topic's rows of :func:`read_preferences`.
    ranking
        Document ids, best first.

    Returns
    -------
    dict
        Values by trec_eval's name, in the order of its lines.
    """
    place = {doc: rank for rank, doc in enumerate(ranking)}
    docs = sorted(judged["doc"].unique().to_list(), key=lambda d: (place.get(d, len(place)), d))
    retrieved = sum(doc in place for doc in docs)
    index = {doc: k for k, doc in enumerate(docs)}
    rows = judged.with_columns(
        pl.col("doc").replace_strict(index, return_dtype=pl.Int64).alias("at")
    )
    groups = [_group(part, len(docs)) for part in rows.partition_by("group", maintain_order=True)]
    counts = [_counted(group.preferred, retrieved) for group in groups]
    ful_both, both = sum(c.ful_both for c in counts), sum(c.both for c in counts)
    ful_implied, implied = sum(c.ful_implied for c in counts), sum(c.implied for c in counts)
    none = sum(c.none for c in counts)
    pair = _of_pairs(groups, retrieved)
    ful_pairs = pair.ful_both + pair.ful_implied
    every = [(c.ful_both + c.ful_implied, c.both + c.implied + c.none) for c in counts]
    return {
        "prefs_num_prefs_poss": both + implied + none,
        "prefs_num_prefs_ful": ful_both + ful_implied,
        "prefs_num_prefs_ful_ret": ful_both,
        "prefs_simp": _share(ful_both + ful_implied, both + implied + none),
        "prefs_pair": _share(
            pair.ful_both + pair.ful_implied, pair.both + pair.implied + pair.none
        ),
        "prefs_avgjg": _mean(every),
        "prefs_avgjg_Rnonrel": _as_many(groups, counts, retrieved, only_retrieved=False),
        "prefs_simp_ret": _share(ful_both, both),
        "prefs_pair_ret": _share(pair.ful_both, pair.both),
        "prefs_avgjg_ret": _mean([(c.ful_both, c.both) for c in counts]),
        "prefs_avgjg_Rnonrel_ret": _as_many(groups, counts, retrieved, only_retrieved=True),
        "prefs_simp_imp": _share(ful_both + ful_implied, both + implied),
        "prefs_pair_imp": _share(ful_pairs, pair.both + pair.implied),
        "prefs_avgjg_imp": _mean(
            [(c.ful_both + c.ful_implied, c.both + c.implied) for c in counts]
        ),
    }


def _group(judged: pl.DataFrame, size: int) -> _Group:
    parts = judged.partition_by("part", maintain_order=True)
    preferred = np.zeros((size, size), dtype=np.bool_)
    for part in parts:
        at, level = part["at"].to_numpy(), part["level"].to_numpy()
        preferred[np.ix_(at, at)] |= level[:, None] > level
    while len(parts) > 1:
        more = preferred | (preferred.astype(np.float32) @ preferred.astype(np.float32) > 0)
        if (more == preferred).all():
            break
        preferred = more
    relevant, nonrelevant = np.zeros((2, size), dtype=np.bool_)
    level = judged["level"].to_numpy()
    at = judged["at"].to_numpy()
    relevant[at[level > 0]] = True
    nonrelevant[at[level == 0]] = True
    if (relevant & nonrelevant).any():
        doc = judged["doc"][int(np.flatnonzero((relevant & nonrelevant)[at])[0])]
        raise InputError(
            f"topic {quoted(judged['topic'][0])}: group {quoted(judged['group'][0])} has document"
            f" {quoted(doc)} at level 0 and above"
        )
    return _Group(preferred, relevant, nonrelevant, len(parts) == 1)


def _counted(preferred: NDArray[Any], retrieved: int) -> _Counts:
    above, below = preferred[:retrieved], preferred[retrieved:]
    both, implied = above[:, :retrieved], above[:, retrieved:]
    return _Counts(
        float(np.triu(both, 1).sum()),
        float(both.sum()),
        float(implied.sum()),
        float(implied.sum() + below[:, :retrieved].sum()),
        float(below[:, retrieved:].sum()),
    )


def _of_pairs(groups: list[_Group], retrieved: int) -> _Counts:
    """Count pairs of documents: each is fulfilled by the share of its preferences that is."""
    size = len(groups[0].relevant)
    times = np.zeros((size, size))
    for group in groups:
        times += group.preferred
    either = times + times.T
    share = np.divide(times, either, out=np.zeros_like(times), where=either > 0)
    # Each pair stands once, above the diagonal.
    ful, pairs = np.triu(share, 1), np.triu(either > 0, 1)
    there, away = slice(retrieved), slice(retrieved, None)
    return _Counts(
        float(ful[there, there].sum()),
        float(pairs[there, there].sum()),
        float(ful[there, away].sum()),
        float(pairs[there, away].sum()),
        float(pairs[away, away].sum()),
    )


def _as_many(
    groups: list[_Group], counts: list[_Counts], retrieved: int, *, only_retrieved: bool
) -> float:
    """Average over groups, as if each had judged as many documents not relevant as relevant."""
    total = 0.0
    for group, count in zip(groups, counts, strict=True):
        most = retrieved if only_retrieved else len(group.relevant)
        wanted, there = int(group.relevant[:most].sum()), int(group.nonrelevant[:most].sum())
        if wanted >= there:
            ful = count.ful_both + (0 if only_retrieved else count.ful_implied)
            possible = count.both + (0 if only_retrieved else count.implied + count.none)
            ful += group.relevant[:retrieved].sum() * (wanted - there)
            possible += group.relevant.sum() * (wanted - there)
        else:
            ful, possible = _with_first(group, retrieved, most, wanted, only_retrieved)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += float(np.float64(ful) / np.float64(possible))
    return total / len(groups) if total > 0 else 0.0


def _with_first(
    group: _Group, retrieved: int, most: int, wanted: int, only_retrieved: bool
) -> tuple[float, float]:
    """Count preferences of which the lower document is relevant, or one of the first others."""
    others = np.flatnonzero(group.nonrelevant[:most])
    pairs = group.preferred.copy()
    if group.whole:
        pairs[:, group.nonrelevant] = False
        # trec_eval counts pairs of documents that are not relevant here, too.
        judged = np.flatnonzero(group.relevant | group.nonrelevant)
        pairs[np.ix_(judged, others[:wanted])] = True
    else:
        # trec_eval goes by the relevant documents of the whole group here.
        left_out = others[int(group.relevant.sum()) if only_retrieved else wanted :]
        pairs[left_out] = False
        pairs[:, left_out] = False
    pairs = pairs[:most, :most]
    return float(np.triu(pairs, 1)[:retrieved].sum()), float(pairs.sum())


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(parts: list[tuple[float, float]]) -> float:
    return sum(_share(part, whole) for part, whole in parts) / len(parts)


def by_topic(
    judged: pl.DataFrame, rankings: dict[str, list[str]], topics: list[str]
) -> dict[str, Floats]:
    """Return the preference measures of topics, each an array of a value a topic."""
    parts = judged.partition_by("topic", as_dict=True)
    found: Iterator[dict[str, float]] = (
        topic_values(parts[(topic,)], rankings.get(topic, [])) for topic in topics
    )
    values = list(found)
    return {name: np.array([one[name] for one in values]) for name in values[0]} if values else {}
