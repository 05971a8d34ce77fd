"""The concordance test: which of two measures agrees more often with a gold measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.text import counted, names_or_count
from cranfield.measures import Measure
from cranfield.meta.measure_studies.correlations import (
    by_measure,
    higher_is_better,
    name_pairs,
    sign_pvalue,
    signs,
)
from cranfield.meta.study import MEASURE_PAIR, Study
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores
from cranfield.tabular import Table

MARKS = ((0.01, "‡"), (0.05, "†"))
"""How significance is marked in the table of the paper."""


class Concordance(Study):
    """Concordance of measures with a gold standard, where they disagree.

    Attributes
    ----------
    measures, gold
        The candidates; the gold standard: one measure, or several that have to agree all at once.
    systems, topics
        Numbers of them.
    pairs
        The table.
    """

    name = "concordance"
    reference: ClassVar[str] = "Sakai (2013)"
    parts: ClassVar[Sequence[str]] = ("pairs",)
    columns: ClassVar[Columns] = {
        **MEASURE_PAIR,
        "compared": Column("Number of pairs of runs on a topic with all scores."),
        "missing": Column("Number of pairs of runs on a topic that lack a score."),
        "disagreements": Column("Number of pairs that the two measures order differently."),
        "first concordant": Column(
            "Number of disagreements in which the first measure is concordant with the gold"
            " standard."
        ),
        "second concordant": Column("The same of the second measure."),
        "first proportion": Column(
            "`first concordant` divided by the disagreements; null if there are none."
        ),
        "second proportion": Column("The same of the second measure."),
        "first wins": Column("Number of disagreements in which only the first is concordant."),
        "second wins": Column("Number of disagreements in which only the second is concordant."),
        "both": Column("Number of disagreements in which both are concordant."),
        "neither": Column("Number of disagreements in which neither is concordant."),
        "p": Column(
            "p-value of the exact two-sided sign test on the wins; 1 if there are none.",
            pvalue=True,
        ),
    }

    pairs: pl.DataFrame

    def matrix(self) -> pl.DataFrame:
        """Return the pairs as the paper's table 2 prints them.

        The concordance of the row's measure, that of the column's measure, `‡` or `†` where the
        sign test
        is significant at 0.01 or 0.05, and the number of disagreements, as text.
        """
        measures = self.measures
        cells = {one: dict.fromkeys(measures[1:], "") for one in measures[:-1]}
        for row in self.pairs.iter_rows(named=True):
            mark = next((mark for alpha, mark in MARKS if row["p"] <= alpha), "")
            shares = "-"
            if row["first proportion"] is not None:
                shares = f"{row['first proportion']:.0%}/{row['second proportion']:.0%}{mark}"
            cells[row["first"]][row["second"]] = f"{shares} ({row['disagreements']})"
        # A measure may be called "measure".
        columns = [name if name != "measure" else "measure " for name in measures[1:]]
        rows = [(measure, *row.values()) for measure, row in cells.items()]
        return pl.DataFrame(rows, dict.fromkeys(["measure", *columns], pl.String), orient="row")

    @property
    def verdict(self) -> tuple[str, ...]:
        known = self.pairs.filter(pl.col("disagreements") > 0)
        if known.is_empty():
            return ()
        ahead = pl.col("first wins") - pl.col("second wins")
        winners = [
            *known.filter(ahead > 0)["first"],
            *known.filter(ahead < 0)["second"],
        ]
        most = max(map(winners.count, self.measures))
        best = [name for name in self.measures if winners.count(name) == most]
        who, than = "none agrees", "another"
        if most:
            verb = "agrees" if len(best) == 1 else "each agree"
            who = f"{names_or_count(best, 'measure')} {verb}"
            than = f"{most:,} of the {counted(len(self.measures) - 1, 'other')}"
        alpha = MARKS[-1][0]
        sure = known.filter(pl.col("p") <= alpha).height
        return (
            f"Where two measures disagree, {who} with {' and '.join(self.gold)} more often than"
            f" {than}. Of {counted(known.height, 'pair')} of measures, {sure:,} differ with p up to"
            f" {alpha:g} (sign test, each by itself).",
            "These p-values are too small, because pairs of runs share runs and topics;"
            " the gold standard itself is not tested.",
        )

    def heading(self) -> list[str]:
        return [
            f"{counted(len(self.measures), 'measure')} with {' and '.join(self.gold)},"
            f" {counted(self.systems, 'system')}, {counted(self.topics, 'topic')}"
        ]

    def tables(self) -> list[Table]:
        title = (
            f"Concordance with {' and '.join(self.gold)}, where two measures disagree: left /"
            " above; ‡ and † for p up to 0.01 and 0.05 (sign test); number of disagreements"
        )
        matrix = self.matrix()
        # What a measure is called says nothing of the column of names.
        return [Table(title, ["", *matrix.columns[1:]], [list(row) for row in matrix.rows()])]


def concordance(scores_by_measure: Any, gold: Any) -> Concordance:
    r"""Compare measures by how often they are concordant with a gold standard.

    The gold standard is a measure that is simple enough to be trusted for one property, such as
    intent recall for diversity or precision for relevance. It is consulted only where two
    candidates disagree on which of two runs is better for a topic.

    .. math:: \mathrm{Conc}(M_1 | M_2, M^*) =
        \frac{|\{d : \Delta M_1 \Delta M_2 < 0 \wedge \Delta M_1 \Delta M^* \ge 0\}|}
        {|\{d : \Delta M_1 \Delta M_2 < 0\}|}

    over all pairs of runs on all topics, d. With several gold measures, the condition has to hold
    for each of them.

    Source: Sakai (2013), section 5.3, figure 17 and table 2; the sign test on the disagreements in
    which exactly one of the two is concordant is that of its footnote 21.

    Parameters
    ----------
    scores_by_measure
        As for :func:`discriminative_power`; of the same topics and systems, in any order.
    gold
        The gold standard: a name among the measures, which is then no candidate; or
        :class:`Scores`; or several of these, or a mapping of names to scores.

    Raises
    ------
    PolicyError
        For an unknown gold measure, fewer than two candidates, or scores by shard.
    CranfieldError
        When the measures differ in topics or systems, for infinite scores, or for one system.

    Notes
    -----
    A gold measure that ties two runs is concordant with both candidates, as in figure 17. Scores of
    a topic that differ by at most 2**-44 of the largest of them differ by rounding, and are tied.
    Scores of measures where lower is better are negated. Where a score is missing, that pair of
    runs is excluded on that topic for the pairs of measures concerned, and counted.

    The pairs of runs share runs and topics and are not independent: the sign test takes them as if
    they were, as the source does, and so its p-values are too small.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs, covid.qrels, ["nDCG@10", "RR", "P@5"])
    >>> found = concordance(ev, "P@5")
    >>> row = found.pairs.row(0, named=True)
    >>> row["disagreements"], row["first concordant"], row["second concordant"]
    (634, 526, 330)
    >>> print(found.matrix().row(0))
    ('nDCG@10', '83%/52%‡ (634)')
    """
    candidates = by_measure(scores_by_measure)
    golden = _gold(gold, scores_by_measure, candidates)
    if not golden:
        raise PolicyError("the concordance test requires a gold measure")
    candidates = {name: one for name, one in candidates.items() if name not in golden}
    if len(candidates) < 2:
        raise PolicyError(
            f"the concordance test requires at least two measures besides the gold"
            f" measure, got {len(candidates)}"
        )
    names = tuple(candidates)
    every: dict[Any, Scores] = {**candidates}
    every |= {("gold", name): one for name, one in golden.items()}
    scores = list(align_scores(every, called=_called).values())
    topics, systems = scores[0].values.shape
    if systems < 2:
        raise CranfieldError(f"the concordance test requires at least two systems, got {systems}")
    return Concordance(
        {},
        measures=names,
        gold=tuple(golden),
        systems=systems,
        topics=topics,
        pairs=_compared(names, scores),
    )


def _called(name: Any) -> str:
    return f"the gold measure {quoted(name[1])}" if isinstance(name, tuple) else quoted(name)


def _gold(gold: Any, data: Any, candidates: Mapping[str, Scores]) -> dict[str, Scores]:
    if isinstance(gold, Mapping):
        return by_measure(gold)
    scores: dict[str, Scores] = {}
    several = [gold] if isinstance(gold, (str, Measure, Scores)) else gold
    for number, one in enumerate(several, 1):
        name = one.measure or f"gold {number}" if isinstance(one, Scores) else None
        if name is None:
            name = _known_name(str(one), data, candidates)
        if name in scores:
            raise PolicyError(f"the gold measure {quoted(name)} occurs twice")
        scores[name] = one if isinstance(one, Scores) else candidates[name]
    return scores


def _known_name(name: str, data: Any, candidates: Mapping[str, Scores]) -> str:
    """Return the name of a measure among the candidates; an evaluation knows aliases too."""
    if name not in candidates and isinstance(data, Mapping):
        with suppress(KeyError):
            scores = data[name]
            name = next(known for known, one in candidates.items() if one is scores)
    if name not in candidates:
        known = ", ".join(candidates)
        raise PolicyError(f"unknown measure {quoted(name)}; expected one of: {known}")
    return name


def _compared(names: tuple[str, ...], scores: list[Scores]) -> pl.DataFrame:
    """Compare the candidates two at a time; their scores are followed by those of gold measures."""
    # Every count is a product of indicators, summed over pairs of runs: a matrix product, exact in
    # floats below 2**53. Rows are of the first candidate, columns of the second.
    values = higher_is_better(scores)
    number = len(names)
    first, second = np.triu_indices(values.shape[2], 1)
    compared, disagreements, concordant, both = np.zeros((4, number, number))
    for topic in range(values.shape[1]):
        preferred = signs(values[:, topic], first, second)
        golden = preferred[number:]
        judged = ~np.isnan(golden).any(axis=0)
        scored = np.where(judged, ~np.isnan(preferred[:number]), 0.0)
        up = np.where(judged, preferred[:number] > 0, 0.0)
        down = np.where(judged, preferred[:number] < 0, 0.0)
        # Of two measures that disagree, one is up and the other down.
        up_agrees, down_agrees = (golden >= 0).all(axis=0), (golden <= 0).all(axis=0)
        compared += scored @ scored.T
        disagreements += up @ down.T + down @ up.T
        concordant += (up * up_agrees) @ down.T + (down * down_agrees) @ up.T
        both_agree = (up * (up_agrees & down_agrees)) @ down.T
        both += both_agree + both_agree.T
    i, j = np.triu_indices(number, 1)
    every = (compared, disagreements, concordant, concordant.T, both)
    known, differ, mine, theirs, tied = (one[i, j].astype(np.int64) for one in every)
    with np.errstate(invalid="ignore"):
        shares = mine / differ, theirs / differ
    return pl.DataFrame(
        {
            **name_pairs(names),
            "compared": known,
            "missing": values.shape[1] * first.size - known,
            "disagreements": differ,
            "first concordant": mine,
            "second concordant": theirs,
            "first proportion": shares[0],
            "second proportion": shares[1],
            "first wins": mine - tied,
            "second wins": theirs - tied,
            "both": tied,
            "neither": differ - mine - theirs + tied,
            "p": sign_pvalue(mine - tied, theirs - tied),
        }
    ).fill_nan(None)
