"""Stopping rules: decide when to stop judging."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import gammaln

from cranfield.assess.pools.pool import Pool, read_judgments
from cranfield.base.arrays import Bools, Floats, Ints, slice_rows
from cranfield.base.errors import PolicyError, as_numbers
from cranfield.base.kinds import Integer, check_arguments
from cranfield.base.spec import (
    OPEN_PROBABILITY,
    Registry,
    Spec,
    format_parameters,
    get_summary,
    integer,
    number,
    parameter,
    to_fraction,
)
from cranfield.base.text import inflect
from cranfield.collection.policies import MAX_DEPTH
from cranfield.result import Column, Columns, Result

BLOCK_SIZE = 1 << 20  # Maximum number of entries of the arrays computed at a time


@dataclass(frozen=True, eq=False)
class JudgingState:
    """Input of a rule: relevance in order of judging, size of the pool, and targets if any."""

    is_relevant: Bools
    pool_size: int
    is_target: Bools | None = None

    @cached_property
    def n_relevant_after(self) -> Ints:
        """Number of relevant documents after 0, 1, ... judgments; shape (judgments + 1,)."""
        return np.asarray(np.r_[0, np.cumsum(self.is_relevant)], dtype=np.int64)

    @cached_property
    def n_judgments_to_relevant(self) -> Ints:
        """Number of judgments up to and including each relevant document; shape (relevant,)."""
        return np.flatnonzero(self.is_relevant) + 1


RuleValues = tuple[Floats, Floats, Bools]  # Value, bound and decision by number of judgments


class Rule(Spec):
    """Stopping rule for judging the documents of a topic, identified by its text form."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    template: ClassVar[str] = ""  # Explanation with the fields `rule`, `value` and `bound`

    def apply(self, state: JudgingState, after: Ints) -> RuleValues:
        """Apply the rule after each number of judgments."""
        raise NotImplementedError


RULES: Registry[type[Rule]] = Registry(
    "stopping rule", "stops", package="cranfield.assess", base=Rule
)


def rules() -> pl.DataFrame:
    """List the stopping rules: name, parameters, summary, source.

    Examples
    --------
    >>> rules().filter(pl.col("rule") == "Knee").select("parameters", "source").rows()
    [('min_judgments=100', 'Cormack and Grossman (2016)')]
    """
    return RULES.tabulate(
        "rule",
        {
            "parameters": format_parameters,
            "what it does": get_summary,
            "source": attrgetter("source"),
        },
    )


def parse_rule(text: str | Rule) -> Rule:
    """Parse a stopping rule from its text form.

    Raises
    ------
    PolicyError
        For an unknown name, parameter or value.

    Examples
    --------
    >>> parse_rule("knee(min_judgments=50)"), parse_rule("2399")
    (Knee(min_judgments=50), Line)
    """
    return RULES.parse(text)


_SOURCE = "Cormack and Grossman (2016)"


def _compute_bend(state: JudgingState, after: Ints) -> Floats:
    """Compute the bend (slope ratio) of the gain curve, rho of :class:`Knee`."""
    bends = np.zeros(after.size)
    # The ratio decreases between relevant documents, so its maximum is right after one of them.
    n_judged = state.n_judgments_to_relevant
    rank = np.arange(1, n_judged.size + 1)
    for rows in slice_rows(after.size, n_judged.size, BLOCK_SIZE):
        s = after[rows, None]
        n_later = np.maximum(1.0 + state.n_relevant_after[s] - rank, 1.0)
        ratio = np.where(n_judged < s, rank / n_judged * (s - n_judged) / n_later, 0.0)
        bends[rows] = ratio.max(axis=1, initial=0.0)
    return bends


class RecallTest(Rule):
    r"""Stop when the last judgments have too few relevant documents for a recall below the target.

    The last n judged documents are an urn, with u relevant documents. The pool has N documents, of
    which s are judged and r are known to be relevant. A recall below the target means that the urn
    and the unjudged documents have at least
    :math:`K = \lfloor r / \mathit{recall} + 1 - (r - u) \rfloor` relevant documents, and
    :math:`p = P(X \le u), X \sim \mathrm{Hypergeometric}(N - s + n, K, n)`. The value is the
    smallest p over all n; the rule stops when it is below 1 - confidence. The minimum of several
    p-values is not a p-value: the probability of stopping too early exceeds 1 - confidence. The
    test assumes documents in random order; if the best are judged first, the urn has more relevant
    documents than a random sample would have.
    """

    name = "RecallTest"
    aliases = ("CMH",)
    source = "Callaghan and Müller-Hansen (2020)"
    template = (
        "the probability of so few relevant documents among the last n judgments, minimised over n"
        " (not a p-value), is {value:.4g}; the rule stops below {bound:.4g}"
    )
    recall: float = parameter(0.95, OPEN_PROBABILITY, "target recall of the pool")
    confidence: float = parameter(
        0.95, OPEN_PROBABILITY, "1 minus the probability below which the rule stops"
    )

    def apply(self, state: JudgingState, after: Ints) -> RuleValues:
        value = np.ones(after.size)
        # Among urns with equal numbers of relevant documents before them, the longest has the
        # smallest p; it starts at the first document or after a relevant one.
        urn_starts = np.r_[0, state.n_judgments_to_relevant]
        recall = to_fraction(self.recall)
        for rows in slice_rows(after.size, urn_starts.size, BLOCK_SIZE):
            s = after[rows]
            r = state.n_relevant_after[s]
            n_missing = r * recall.denominator // recall.numerator + 1 - r
            row, urn = np.nonzero(urn_starts < s[:, None])
            n_outside, urn_size = state.pool_size - s[row], s[row] - urn_starts[urn]
            p = _compute_lower_tail(r[row] - urn, n_missing[row], urn_size, n_outside)
            np.minimum.at(value[rows], row, p)
        bound = np.full(after.size, float(1 - to_fraction(self.confidence)))
        return value, bound, value < bound


def _compute_lower_tail(n_inside: Ints, n_missing: Ints, urn_size: Ints, n_outside: Ints) -> Floats:
    """Compute the hypergeometric probability of at most `n_inside` relevant ones in the urn."""
    n_relevant, n_docs = n_inside + n_missing, urn_size + n_outside
    probability = np.zeros(n_inside.size)
    is_possible = n_missing <= n_outside
    is_below_mean = n_inside * n_docs <= n_relevant * urn_size
    # Sum the tail whose terms decrease: below the expected number, or above it.
    for is_lower_tail in (True, False):
        rows = np.flatnonzero(is_possible & (is_below_mean == is_lower_tail))
        x = n_inside[rows] + (not is_lower_tail)
        rows, x = rows[x <= urn_size[rows]], x[x <= urn_size[rows]]
        if not is_lower_tail:
            probability[is_possible & ~is_below_mean] = 1.0
        # Of m documents, k are relevant; of the n documents in the urn, x are.
        k, n, m = n_relevant[rows], urn_size[rows], n_docs[rows]
        term = np.exp(_log_choose(k, x) + _log_choose(m - k, n - x) - _log_choose(m, n))
        sums = np.zeros(rows.size)
        while term.any():
            sums += term
            if is_lower_tail:
                step = x * (m - k - n + x) / ((k - x + 1.0) * (n - x + 1))
                x = x - 1
            else:
                step = (k - x) * (n - x) / ((x + 1.0) * (m - k - n + x + 1))
                x = x + 1
            term = np.where(term > 1e-18 * sums, term * step, 0.0)
        probability[rows] = sums if is_lower_tail else np.clip(1.0 - sums, 0.0, 1.0)
    return probability


def _log_choose(n: Ints, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


class Knee(Rule):
    r"""Stop when the gain curve has a knee.

    With r(i) relevant documents after i of s judgments, the bend (slope ratio) of the curve is
    :math:`\rho = \max_i \frac{r(i)/i}{(1 + r(s) - r(i))/(s - i)}`. The rule stops when
    :math:`\rho \ge 156 - \min(r(s), 150)`, after at least `min_judgments` judgments.
    """

    name = "Knee"
    source = _SOURCE
    template = (
        "the bend (slope ratio) of the gain curve is {value:.4g}; the rule stops at {bound:.4g} or"
        " more, after at least {rule.min_judgments} judgments"
    )
    min_judgments: int = parameter(100, integer(0), "minimum number of judgments")

    def apply(self, state: JudgingState, after: Ints) -> RuleValues:
        value = _compute_bend(state, after)
        bound = (156 - np.minimum(state.n_relevant_after[after], 150)).astype(np.float64)
        return value, bound, (value >= bound) & (after >= self.min_judgments)


class Target(Rule):
    """Stop when all targets, relevant documents of an earlier random sample, are judged.

    First, documents are drawn at random until `n_targets` relevant ones are found, the targets.
    Then documents are judged in another order; `targets` of :func:`stopping` marks the targets.
    """

    name = "Target"
    source = _SOURCE
    template = "{value:g} of {bound:g} targets judged"
    n_targets: int = parameter(10, integer(1), "number of targets")

    def apply(self, state: JudgingState, after: Ints) -> RuleValues:
        if state.is_target is None:
            raise PolicyError(f"{self} requires targets, a mask of the judged documents")
        value = np.r_[0, np.cumsum(state.is_target)][after].astype(np.float64)
        bound = np.full(after.size, float(self.n_targets))
        return value, bound, value >= bound


class Line(Rule):
    """Stop when judgments reach a multiple of the number of relevant documents plus a constant.

    With the default parameters it is the rule 2399 of Cormack and Grossman (2016).
    """

    name = "Line"
    aliases = ("2399",)
    source = _SOURCE
    template = "{value:g} documents judged; the rule stops at {bound:g}"
    each: float = parameter(1.2, number(0), "judgments for each relevant document")
    more: float = parameter(2399, number(0), "additional judgments")

    def apply(self, state: JudgingState, after: Ints) -> RuleValues:
        value = after.astype(np.float64)
        bound = np.asarray(self.each * state.n_relevant_after[after] + self.more, dtype=np.float64)
        return value, bound, value >= bound


class Budget(Rule):
    """Stop at a bend of the gain curve with enough judgments, or at a proportion of the pool.

    The bend (:class:`Knee`) is at least `bend`. Of N documents, s judgments with r(s) relevant ones
    are enough if s >= `draws` N / r(s); a random sample of N / r(s) has one on average.
    """

    name = "Budget"
    source = _SOURCE
    template = "{value:g} documents judged; the rule stops at {bound:g}"
    bend: float = parameter(6.0, number(0), "minimum bend (slope ratio) of the gain curve")
    draws: float = parameter(
        10.0, number(0), "multiple of the size of a random sample with one relevant document"
    )
    proportion: float = parameter(
        0.75, number(0, 1), "proportion of the pool at which it always stops"
    )

    def apply(self, state: JudgingState, after: Ints) -> RuleValues:
        n_relevant = state.n_relevant_after[after]
        n_sufficient = np.full(after.size, np.inf)
        is_bent = (_compute_bend(state, after) >= self.bend) & (n_relevant > 0)
        n_sufficient[is_bent] = self.draws * state.pool_size / n_relevant[is_bent]
        value = after.astype(np.float64)
        bound = np.minimum(n_sufficient, self.proportion * state.pool_size)
        return value, bound, value >= bound


class _CountsByRule(dict[str, int | None]):
    """Numbers of judgments by rule; any text form of a rule is a key."""

    def __missing__(self, key: str | Rule) -> int | None:
        name = str(parse_rule(key))
        if name not in self:
            raise KeyError(key)
        return self[name]


@dataclass(frozen=True)
class Verdict:
    """Decision of a rule after some judgments; returned by :meth:`Stopping.list_verdicts`.

    Attributes
    ----------
    rule
        Text form of the rule.
    n_judged, n_relevant
        Number of judgments so far, and number of relevant documents among them.
    stop
        Whether to stop.
    value, bound
        Statistic of the rule, and its bound for stopping.
    reason
        Explanation with the value and the bound.
    """

    rule: str
    n_judged: int
    n_relevant: int
    stop: bool
    value: float
    bound: float
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Stopping(Result):
    """Decisions of stopping rules for a topic; returned by :func:`stopping`.

    Attributes
    ----------
    rules
        Stopping rules.
    total
        Number of documents of the pool.
    after, relevant
        Numbers of judgments after which the rules were applied (column `judged`), and numbers of
        relevant documents among them; shape (applications,).
    value, bound, stop
        Columns of the table; shape (rules, applications).
    """

    name: ClassVar[str] = "stops"
    columns: ClassVar[Columns] = {
        "rule": Column("Stopping rule.", key=True),
        "judged": Column("Number of judgments so far.", key=True),
        "relevant": Column("Number of relevant documents among the judged ones."),
        "value": Column("Statistic of the rule."),
        "bound": Column("Value at which the rule stops, or for `RecallTest` below which it stops."),
        "stop": Column("Whether the rule stops; more judgments may reverse this."),
    }

    rules: tuple[Rule, ...]
    total: int
    after: Ints
    relevant: Ints
    value: Floats
    bound: Floats
    stop: Bools

    def find_stops(self) -> dict[str, int | None]:
        """Return the number of judgments after which each rule first stopped; None if it did not.

        Keys are text forms of the rules; equivalent text forms are accepted as well.
        """
        stops = (int(self.after[stop.argmax()]) if stop.any() else None for stop in self.stop)
        return _CountsByRule(zip(map(str, self.rules), stops, strict=True))

    def list_verdicts(self) -> tuple[Verdict, ...]:
        """Return the decision of each rule after the last judgment."""
        frame = self._frame().rename({"judged": "n_judged", "relevant": "n_relevant"})
        last_rows = frame[self.after.size - 1 :: self.after.size].to_dicts()
        return tuple(
            Verdict(**row, reason=rule.template.format(**{**row, "rule": rule}))
            for rule, row in zip(self.rules, last_rows, strict=True)
        )

    def heading(self) -> list[str]:
        stops = [
            f"{rule} {'not yet' if n is None else f'after {n:,}'}"
            for rule, n in self.find_stops().items()
        ]
        judgments = inflect(int(self.after[-1]), "judgment")
        return [f"{judgments} of {self.total:,}: {', '.join(stops)}"]

    def _frame(self) -> pl.DataFrame:
        n_rules = len(self.rules)
        counts = {"judged": self.after, "relevant": self.relevant}
        columns = {name: np.tile(values, n_rules) for name, values in counts.items()}
        decisions = {name: getattr(self, name).ravel() for name in ("value", "bound", "stop")}
        rules = np.repeat([str(rule) for rule in self.rules], self.after.size)
        return pl.DataFrame({"rule": rules, **columns, **decisions})


def stopping(
    labels: Any,
    rules: str | Rule | Iterable[str | Rule],
    *,
    total: Annotated[int, Integer(1, MAX_DEPTH)],
    rel: Annotated[int, Integer(0)] = 1,
    every: Annotated[int, Integer(1, MAX_DEPTH)] = 1,
    targets: Any = None,
) -> Stopping:
    """Apply stopping rules to the judgments of a topic, after each judgment or at intervals.

    Parameters
    ----------
    labels
        Grades of the judged documents of a topic, in the order of judging.
    rules
        One or several rules, or their text forms: `RecallTest` (Callaghan and Müller-Hansen),
        `Knee`, `Target`, `Line` (2399), `Budget`.
    total
        Number of documents of the pool, judged or not.
    rel
        Lowest grade that counts as relevant.
    every
        Number of judgments between applications of the rules, which are also applied after the last
        judgment.
    targets
        For `Target`: whether each judged document is a target, as Booleans or numbers.

    Raises
    ------
    PolicyError
        For unknown rules, labels that are not numbers or too many, and missing or wrong targets.

    Examples
    --------
    >>> labels = [1, 1, 0, 1] + 16 * [0]
    >>> decisions = stopping(labels, ["RecallTest(confidence=0.8)", "knee"], total=22)
    >>> decisions
    Stopping(20 judgments of 22: RecallTest(confidence=0.8) after 19, Knee not yet)
    >>> [round(verdict.value, 4) for verdict in decisions.list_verdicts()]
    [0.1111, 12.0]
    """
    check_arguments(stopping, locals())
    rules = parse_rules(rules)
    grades = as_numbers(labels, "labels")
    if grades.ndim != 1 or np.isnan(grades).any():
        content = "NaN" if grades.ndim == 1 else f"shape {grades.shape}"
        raise PolicyError(f"labels must be a one-dimensional sequence of grades, got {content}")
    if grades.size > total:
        raise PolicyError(f"expected at most {total:,} judged documents, got {grades.size:,}")
    is_target = None
    if targets is not None:
        is_target = as_numbers(targets, "targets") > 0
        if is_target.shape != grades.shape:
            expected = f"targets must have the shape of labels, {grades.shape}"
            raise PolicyError(f"{expected}, got {is_target.shape}")
    after = np.unique(np.r_[np.arange(every, grades.size + 1, every), grades.size])
    state = JudgingState(grades >= rel, int(total), is_target)
    value, bound, stop = np.zeros((3, len(rules), after.size))
    for k, rule in enumerate(rules):
        value[k], bound[k], stop[k] = rule.apply(state, after)
    return Stopping(rules, int(total), after, state.n_relevant_after[after], value, bound, stop > 0)


def stopping_by_topic(
    pool: Pool,
    judged: Any,
    rules: str | Rule | Iterable[str | Rule],
    *,
    rel: int = 1,
    every: int = 1,
) -> dict[str, Stopping]:
    """Apply stopping rules to the judgments of each topic of a pool.

    Parameters
    ----------
    pool
        Pool of documents; judgments of other documents are ignored.
    judged
        Judgments so far, in order of judging within each topic: any input of
        :func:`cranfield.read_qrels`, or None if there are none.
    rules, rel, every
        As for :func:`stopping`, except the rule `Target`.

    Returns
    -------
    dict of Stopping by topic
        Decisions for each topic of the pool.

    Examples
    --------
    >>> import cranfield as cf
    >>> pool = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0}, "r": {"x": 1.0}}}, 2)
    >>> cf.assess.stopping_by_topic(pool, {"q": {"x": 1, "y": 0}}, "Budget")
    {'q': Stopping(2 judgments of 2: Budget after 2), 'r': Stopping(0 judgments of 1: ... yet)}
    """
    parsed_rules = parse_rules(rules)
    topic = grades = np.zeros(0, dtype=np.int32)
    if (qrels := read_judgments(judged)) is not None:
        docs, rows = pool.find_matching_rows(qrels)
        ordered_docs = docs[np.argsort(rows)]
        topic, grades = pool.topic[ordered_docs], qrels.grades[np.sort(rows)]
    return {
        name: stopping(grades[topic == t], parsed_rules, total=max(1, size), rel=rel, every=every)
        for t, (name, size) in enumerate(zip(pool.topics, np.diff(pool.starts), strict=True))
    }


def parse_rules(rules: str | Rule | Iterable[str | Rule]) -> tuple[Rule, ...]:
    return tuple(map(parse_rule, [rules] if isinstance(rules, (str, Rule)) else rules))
