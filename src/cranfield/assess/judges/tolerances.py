"""Decide whether quantities of judges are within the user's tolerances."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import polars as pl
from scipy.special import stdtrit

from cranfield.base.errors import PolicyError, quote
from cranfield.base.text import format_names, inflect, suggest_names
from cranfield.result import Column, Columns, Result, TableResult
from cranfield.sources.values import parse_number

AT_LEAST, AT_MOST, WITHIN = "at least", "at most", "within +/-"
"""Comparisons of a quantity with its tolerance."""

VERDICTS = ("met", "undecided", "not met")
"""Verdicts, in ascending order of precedence among the systems of a judge."""

MAX_SENTENCES = 3  # Maximum number of judges that are reported in a sentence each


class Quantity(NamedTuple):
    """Quantity of judges: its table, its comparison with a tolerance, and bounds of tolerances."""

    table: str
    comparison: str
    min_tolerance: float
    max_tolerance: float


QUANTITIES = {
    "kappa": Quantity("intervals", AT_LEAST, -1, 1),
    "alpha": Quantity("intervals", AT_LEAST, -1, 1),
    "agreement": Quantity("intervals", AT_LEAST, -1, 1),
    "bias": Quantity("intervals", WITHIN, 0, inf),
    "tau": Quantity("rankings", AT_LEAST, -1, 1),
    "tau AP": Quantity("rankings", AT_LEAST, -1, 1),
    "score-bias": Quantity("score-bias", WITHIN, 0, inf),
    "self-preference": Quantity("self-preference", AT_MOST, -inf, inf),
    "difference(A, B)": Quantity("ppi", AT_LEAST, -inf, inf),
}

REQUIREMENTS = {
    "intervals": "a result of compare_judges",
    "rankings": "a result of judge_rankings",
    "score-bias": "a result of score_bias",
    "self-preference": "a result of self_preference",
    "ppi": "a result of ppi_scores",
}
"""Result that contains the quantities of each table."""

MAX_TOPICS = 1_000_000  # Maximum number of topics that is reported as sufficient


def find_quantity(name: str) -> Quantity:
    """Find a quantity by a name such as `kappa 0|12`."""
    name = name.strip()
    general_name = re.sub(r"(?s)^difference\(.+\)$", "difference(A, B)", name)
    general_name = re.sub(r"^(kappa|alpha) [0-9|]+$", r"\1", general_name)
    if general_name not in QUANTITIES:
        expected = f"expected one of: {', '.join(QUANTITIES)}"
        hint = suggest_names(name, QUANTITIES, otherwise=expected)
        raise PolicyError(f"unknown quantity {quote(name)} of a tolerance{hint}")
    return QUANTITIES[general_name]


def check_tolerances(
    tolerances: Mapping[str, Any],
    tables: Collection[str],
    requirements: Mapping[str, str] = REQUIREMENTS,
) -> dict[str, float]:
    """Return tolerances as numbers; raise an error for quantities that no table contains.

    `requirements` describes how to obtain each table.
    """
    values = {}
    for name, value in tolerances.items():
        table, _, low, high = find_quantity(name)
        if table not in tables:
            raise PolicyError(f"the tolerance of {name} requires {requirements[table]}")
        number = parse_number(value)
        if number is None or not low <= number <= high:
            bounds = f"at least {low}" if high == inf else f"from {low} to {high}"
            expected = "a number" if number is None else bounds
            if str(value).rstrip().endswith("%"):
                expected += " in the unit of the quantity, not a percentage"
            raise PolicyError(f"tolerance of {name} must be {expected}, got {quote(value)}")
        values[name] = number
    return values


def decide_verdict(low: float | None, high: float | None, tolerance: float, comparison: str) -> str:
    """Return `met` if an interval is within the tolerance, `not met` if outside, or `undecided`."""
    if low is None or high is None:
        return "undecided"
    min_value = {AT_LEAST: tolerance, AT_MOST: -inf, WITHIN: -tolerance}[comparison]
    max_value = inf if comparison == AT_LEAST else tolerance
    if min_value <= low and high <= max_value:
        return "met"
    return "not met" if high < min_value or low > max_value else "undecided"


def compute_required_topics(
    half_width: float, n_topics: int, distance: float, level: float
) -> int | None:
    r"""Compute the number of topics at which a t interval has a half-width below `distance`.

    It is the smallest T with :math:`t_{T-1} s / \sqrt T < d`, where s is the standard deviation
    that gives this half-width for `n_topics` topics; None if T exceeds a million.
    """
    probability = (1 + level) / 2
    deviation = half_width * n_topics**0.5 / stdtrit(n_topics - 1, probability)

    def is_narrow(n: int) -> bool:
        return bool(stdtrit(n - 1, probability) * deviation / n**0.5 < distance)

    sizes = range(2, MAX_TOPICS + 1)
    index = bisect_left(sizes, True, key=is_narrow)
    return sizes[index] if index < len(sizes) else None


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(TableResult):
    """Verdicts on quantities of judges, by the user's tolerances; returned by :func:`decide`.

    Attributes
    ----------
    rows
        Data frame with a row for each tolerance, judge and measure.
    confidence
        Confidence level of the intervals.
    notes
        Notes on differences that may not equal the difference of the estimated means.
    """

    name: ClassVar[str] = "decisions"
    titles: ClassVar[Mapping[str, str]] = {"decisions": "Decisions by tolerance"}
    columns: ClassVar[Columns] = {
        "quantity": Column("Quantity that has a tolerance, such as kappa.", key=True),
        "judge": Column("Judge.", key=True),
        "measure": Column("Measure; empty for quantities of grades, such as kappa.", key=True),
        "system": Column(
            "System that determines the verdict on `score-bias`; empty for other quantities."
        ),
        "estimate": Column("Estimate of the quantity; null if undefined."),
        "low": Column("Lower bound of the confidence interval of the estimate; null if undefined."),
        "high": Column("Upper bound of the same confidence interval as `low`."),
        "comparison": Column("Comparison with the tolerance: at least, at most, or within +/-."),
        "tolerance": Column("Tolerance of the quantity."),
        "verdict": Column(
            "Interval within the tolerance: `met`; outside: `not met`; else or biased: `undecided`."
        ),
        "topics": Column(
            "Number of topics at which undecided t intervals would give a verdict, with the same"
            " estimates and deviations; null if decided, unknown or above a million."
        ),
    }

    confidence: float
    notes: tuple[str, ...]

    @property
    def verdict(self) -> tuple[str, ...]:
        """Sentences: a verdict for each row, or for many judges the judges by verdict."""
        sentences: list[str] = []
        groups = self.rows.group_by(["quantity", "measure"], maintain_order=True)
        for (quantity, measure), group in groups:
            subject = f"{quantity} of {measure}" if measure else str(quantity)
            condition = f"{group['comparison'][0]} {group['tolerance'][0]:g}"
            if group.height <= MAX_SENTENCES:
                sentences += [self._format_row(row, subject, condition) for row in group.to_dicts()]
                continue
            judges = {name: group.filter(verdict=name)["judge"].to_list() for name in VERDICTS}
            counts = [f"{k} for {format_names(v, 'judge')}" for k, v in judges.items() if v]
            sentences.append(f"{subject}: {condition}: {'; '.join(counts)}.")
        return tuple(sentences)

    def _format_row(self, row: Mapping[str, Any], subject: str, condition: str) -> str:
        system = f", system {row['system']}" if row["system"] else ""
        subject += f"{system}, judge {row['judge']}"
        if row["estimate"] is None:
            return f"{subject}: undefined; {condition}: undecided."
        interval = "no interval"
        if row["low"] is not None:
            level = f"{'simultaneous ' if system else ''}{100 * self.confidence:g}%"
            interval = f"{level} interval {row['low']:.4f} to {row['high']:.4f}"
        arguments: Any = (row[k] for k in ("low", "high", "tolerance", "comparison"))
        is_biased = row["verdict"] != decide_verdict(*arguments)
        reason = ", because the choice of judged documents biases the difference"
        verdict = row["verdict"] + reason * is_biased
        text = f"{subject}: {row['estimate']:.4f} ({interval}); {condition}: {verdict}."
        if row["topics"] is not None:
            scope = " for all systems, each" if system else ","
            text += (
                f" About {inflect(row['topics'], 'topic')} in total would be enough{scope} with the"
                " same estimate and standard deviation."
            )
        return text

    def heading(self) -> list[str]:
        return [inflect(self.rows.height, "decision")]

    def _frame(self) -> pl.DataFrame:
        is_empty = self.rows["topics"].is_null().all()
        return self.rows.drop("topics") if is_empty else self.rows


def decide(tolerances: Mapping[str, Any], *results: Result) -> Decisions:
    r"""Decide whether quantities of judges are within tolerances, by their confidence intervals.

    Parameters
    ----------
    tolerances
        Tolerance of each quantity; there are no defaults. It is the minimum of `kappa`, `alpha`
        (also for binary grades, such as `kappa 0|12`), `agreement`, `tau` and `tau AP` of the
        rankings of systems, and `difference(A, B)`, the prediction-powered mean score of system A
        minus that of B. It is the maximum of `self-preference`, and the maximum absolute value of
        `bias`, the mean difference of grades, and of `score-bias`, the bias of the mean score of
        each system.
    results
        Results that contain these quantities: of :func:`compare_judges`, :func:`judge_rankings`,
        :func:`score_bias`, :func:`self_preference`, :func:`ppi_scores`; with the same confidence
        level.

    Returns
    -------
    Decisions
        Result with a verdict for each tolerance, judge and measure: `met` if the whole interval is
        within the tolerance, `not met` if it is outside, else or if biased `undecided`.

    Raises
    ------
    PolicyError
        For a quantity that no result contains, invalid tolerances, or different confidence levels.

    Notes
    -----
    Intervals are not adjusted for the number of quantities or judges. Those of `score-bias` are
    simultaneous for the systems (Bonferroni): the verdict is `met` if all systems are within the
    tolerance, and `not met` if one is outside; the column `system` names the one that decides.

    Examples
    --------
    >>> people = {"q1": {"a": 0, "b": 1, "c": 2}, "q2": {"a": 2, "d": 0, "e": 1}}
    >>> machine = {"q1": {"a": 0, "b": 2, "c": 2}, "q2": {"a": 2, "d": 1, "e": 0}}
    >>> from cranfield.assess import compare_judges
    >>> comparison = compare_judges(people, {"llm": machine})
    >>> decisions = decide({"bias": 0.1}, comparison)
    >>> decisions.to_polars().select("estimate", "verdict").rows()
    [(0.1666..., 'undecided')]
    """
    results_by_table: dict[str, list[Any]] = {}
    levels = set()
    for result in results:
        fields = vars(result)
        level = fields["confidence"] if "confidence" in fields else 1 - fields["means"].alpha
        levels.add(float(round(level, 12)))
        for table in result.frames():
            results_by_table.setdefault(table, []).append(result)
    if len(levels) != 1:
        listing = ", ".join(f"{level:g}" for level in sorted(levels)) or "no result"
        raise PolicyError(f"expected results with the same confidence level, got {listing}")
    [level] = levels
    rows, notes = [], []
    for name, tolerance in check_tolerances(tolerances, results_by_table).items():
        quantity = find_quantity(name)
        comparison = quantity.comparison
        settings = {"quantity": name, "comparison": comparison, "tolerance": tolerance}
        for result in results_by_table[quantity.table]:
            estimates = _select_estimates(name.strip(), quantity.table, result)
            for _, group in estimates.group_by(["measure", "judge"], maintain_order=True):
                row = _select_deciding_row(group, tolerance, comparison, level)
                rows.append({"system": "", **row, **settings})
            if quantity.table == "ppi" and result.unit == "topic" and result.means.folds:
                notes.append(
                    f"{name}: the weight lambda of the labels of {result.judge} is learned"
                    " for the difference itself, so the estimate may not equal the difference of"
                    " the estimated means"
                )
    schema: dict[str, Any] = dict.fromkeys(Decisions.columns, pl.String)
    schema |= dict.fromkeys(("estimate", "low", "high", "tolerance"), pl.Float64)
    return Decisions(pl.DataFrame(rows, schema | {"topics": pl.Int64}), level, tuple(notes))


def _select_estimates(name: str, table: str, result: Any) -> pl.DataFrame:
    """Return estimates and intervals of a quantity, by measure, judge and system if it has one."""
    frame: pl.DataFrame = result.frames()[table]
    if table == "ppi":
        first, second = _parse_systems(name, result.systems)
        keys = {"measure": pl.lit(result.measure), "judge": pl.lit(result.judge)}
        differences = result.estimate_differences(second).filter(system=first)
        is_biased = result.is_biased[*map(result.systems.index, (first, second))]
        frame = differences.drop("system").with_columns(**keys, is_biased=bool(is_biased))
    elif table == "intervals":
        statistics = frame["statistic"].unique(maintain_order=True).to_list()
        if name not in statistics:
            available = ", ".join(key for key in statistics if key.split()[0] in QUANTITIES)
            raise PolicyError(
                f"{quote(name)} is undefined for these grades; expected one of: {available}"
            )
        frame = frame.filter(statistic=name).with_columns(measure=pl.lit(""))
    elif table == "rankings":
        columns = {"estimate": name, "low": f"{name} low", "high": f"{name} high"}
        frame = frame.select("measure", "judge", **columns)
    else:
        frame = frame.drop_nulls("bias").rename({"bias": "estimate"})
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _select_deciding_row(
    estimates: pl.DataFrame, tolerance: float, comparison: str, level: float
) -> dict[str, Any]:
    """Return the row that determines the verdict: not met, else undecided, else met.

    Of several rows with this verdict, it is the one with the largest absolute estimate. The number
    of topics is enough for all undecided rows.
    """
    rows = estimates.to_dicts()
    joint_level, sizes = 1 - (1 - level) / len(rows), list[int | None]()
    for row in rows:
        verdict = decide_verdict(row["low"], row["high"], tolerance, comparison)
        row["verdict"] = "undecided" if row.get("is_biased") else verdict
        n_topics = row.pop("topics", 0)
        if row["verdict"] == "undecided":
            size = None
            if row["low"] is not None and n_topics > 1:
                value = abs(row["estimate"]) if comparison == WITHIN else row["estimate"]
                half_width, distance = (row["high"] - row["low"]) / 2, abs(value - tolerance)
                size = compute_required_topics(half_width, n_topics, distance, joint_level)
            sizes.append(size)
    row = max(rows, key=lambda row: (VERDICTS.index(row["verdict"]), abs(row["estimate"] or 0.0)))
    if row["verdict"] == "undecided":
        row["topics"] = None if None in sizes else max(filter(None, sizes))
    return row


def _parse_systems(name: str, systems: tuple[str, ...]) -> tuple[str, str]:
    """Parse A and B of `difference(A, B)`, whose names may contain commas."""
    text = name.removeprefix("difference(").removesuffix(")")
    pairs = [(text[: k.start()].strip(), text[k.end() :].strip()) for k in re.finditer(",", text)]
    pairs = [(a, b) for a, b in pairs if {a, b} <= {*systems} and a != b]
    if len(pairs) != 1:
        raise PolicyError(
            f"difference(A, B) requires two systems of: {', '.join(systems)}; got {quote(text)}"
        )
    return pairs[0]
