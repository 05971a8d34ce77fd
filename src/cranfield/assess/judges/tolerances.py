"""Decisions on judges: is a quantity within the tolerance that the user states?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, ClassVar

import polars as pl
from scipy.special import stdtrit

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.text import counted, did_you_mean, names_or_count
from cranfield.result import Column, Columns, Result, TableResult
from cranfield.sources.values import finite

LEAST, MOST, WITHIN = "at least", "at most", "within +/-"
"""How a quantity is compared with its tolerance."""

VERDICTS = ("met", "undecided", "not met")

FEW = 3
"""Maximum number of judges with a sentence each."""

QUANTITIES = {
    "kappa": ("intervals", LEAST),
    "alpha": ("intervals", LEAST),
    "agreement": ("intervals", LEAST),
    "bias": ("intervals", WITHIN),
    "tau": ("rankings", LEAST),
    "tau AP": ("rankings", LEAST),
    "score-bias": ("score-bias", WITHIN),
    "self-preference": ("self-preference", MOST),
    "difference": ("ppi", LEAST),
}
"""Table that has a quantity, and how it is compared with its tolerance."""

REQUIREMENTS = {
    "rankings": "runs (--runs), without --ppi",
    "score-bias": "runs (--runs), without --ppi",
    "self-preference": "runs and families (--families)",
    "ppi": "prediction-powered scores (--ppi)",
}
"""What the tables of quantities require."""

MAX_TOPICS = 1_000_000
"""Maximum number of topics that is searched."""


def split_name(name: str) -> tuple[str, str]:
    """Split the name of a quantity from the two systems in parentheses of a difference.

    Examples
    --------
    >>> split_name("difference(new, old)"), split_name("kappa 0|12")
    (('difference', 'new, old'), ('kappa 0|12', ''))
    """
    match = re.fullmatch(r"(difference)\((.+)\)", name.strip(), re.DOTALL)
    if match is not None:
        return match[1], match[2]
    word = name.strip()
    is_cut = re.fullmatch(r"(kappa|alpha) [0-9|]+", word)
    if (word not in QUANTITIES or word == "difference") and not is_cut:
        forms = [*(name for name in QUANTITIES if name != "difference"), "difference(A, B)"]
        choices = f"expected one of: {', '.join(forms)}"
        hint = did_you_mean(word, forms, otherwise=choices)
        raise PolicyError(f"unknown quantity {quoted(word)} of a tolerance{hint}")
    return word, ""


def quantity_of(name: str) -> tuple[str, str]:
    """Return the table of a quantity, and how it is compared with its tolerance."""
    word, _ = split_name(name)
    return QUANTITIES.get(word) or QUANTITIES[word.split()[0]]


def check_tolerances(tolerances: Mapping[str, Any], tables: Any) -> dict[str, float]:
    """Return tolerances as numbers; refuse quantities that no table has."""
    numbers = {}
    for name, value in tolerances.items():
        table, side = quantity_of(name)
        if table not in tables:
            raise PolicyError(f"the tolerance of {name} requires {REQUIREMENTS[table]}")
        number = finite(value)
        if number is None:
            raise PolicyError(f"tolerance of {name} must be a number, got {quoted(value)}")
        if side == WITHIN and number < 0:
            raise PolicyError(f"tolerance of {name} must be at least 0, got {quoted(value)}")
        numbers[name] = number
    return numbers


def verdict_of(low: float | None, high: float | None, tolerance: float, side: str) -> str:
    """Return met, not met or undecided: the interval is within, outside, or neither."""
    if low is None or high is None:
        return "undecided"
    if side == LEAST:
        is_met, is_missed = low >= tolerance, high < tolerance
    elif side == MOST:
        is_met, is_missed = high <= tolerance, low > tolerance
    else:
        is_met = -tolerance <= low and high <= tolerance
        is_missed = low > tolerance or high < -tolerance
    return "met" if is_met else "not met" if is_missed else "undecided"


def topics_to_decide(half: float, topics: int, distance: float, level: float) -> int | None:
    r"""Return the number of topics with which a t interval is shorter than a distance.

    The smallest T with :math:`t_{T-1} s / \sqrt T < d`, where s is the standard deviation that the
    half-width of the interval of `topics` topics has; None if it exceeds a million.

    Examples
    --------
    >>> topics_to_decide(0.1, 25, 0.05, 0.95)
    93
    """
    tail = (1 + level) / 2
    spread = half * topics**0.5 / stdtrit(topics - 1, tail)

    def is_short(number: int) -> bool:
        return bool(stdtrit(number - 1, tail) * spread / number**0.5 < distance)

    low, high = 1, MAX_TOPICS
    if not is_short(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_short(middle) else (middle, high)
    return high


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(TableResult):
    """Quantities of judges and the tolerances that the user states; made by :func:`decide`.

    Attributes
    ----------
    rows
        The table, a row for each tolerance, judge and measure.
    confidence
        Confidence level of the intervals.
    """

    name: ClassVar[str] = "decisions"
    columns: ClassVar[Columns] = {
        "quantity": Column("Quantity of the tolerance, such as kappa.", key=True),
        "judge": Column("Judge.", key=True),
        "measure": Column("Measure; empty for agreement of grades.", key=True),
        "system": Column("System with the deciding bias of a score; empty otherwise."),
        "estimate": Column("Estimate of the quantity."),
        "low": Column("Lower bound of its confidence interval; null without one."),
        "high": Column("Upper bound of the interval."),
        "comparison": Column("How the quantity is compared with the tolerance."),
        "tolerance": Column("The tolerance."),
        "verdict": Column(
            "met: the whole interval is within the tolerance; not met: it is outside; undecided."
        ),
        "topics": Column(
            "If undecided, number of topics that would decide with this estimate and spread, for"
            " t intervals of means over topics; null otherwise."
        ),
    }

    confidence: float

    @property
    def verdict(self) -> tuple[str, ...]:
        """A sentence for each row; one with the number of verdicts for a quantity of many rows."""
        sentences: list[str] = []
        for _, part in self.rows.group_by("quantity", "measure", maintain_order=True):
            rows = part.to_dicts()
            if len(rows) <= FEW:
                sentences += map(self._sentence, rows)
                continue
            counts = [f"{verdict} for {names}" for verdict, names in _judges_by_verdict(part)]
            limit = f"{rows[0]['comparison']} {rows[0]['tolerance']:g}"
            sentences.append(f"{_subject(rows[0])}: {limit}: {'; '.join(counts)}.")
        return tuple(sentences)

    def _sentence(self, row: Mapping[str, Any]) -> str:
        level = f"{'simultaneous ' * bool(row['system'])}{100 * self.confidence:g}%"
        subject = _subject(row) + (f", system {row['system']}" if row["system"] else "")
        subject += f", judge {row['judge']}"
        tolerance = f"{row['comparison']} {row['tolerance']:g}"
        if row["estimate"] is None:
            return f"{subject}: not defined; {tolerance}: undecided."
        interval = "without interval"
        if row["low"] is not None:
            interval = f"{level} interval {row['low']:.4f} to {row['high']:.4f}"
        text = f"{subject}: {row['estimate']:.4f} ({interval}); {tolerance}: {row['verdict']}."
        if row["topics"] is not None:
            text += (
                f" About {counted(row['topics'], 'topic')} in all would decide, if estimate and"
                " spread stay the same."
            )
        return text

    def heading(self) -> list[str]:
        """Return one line: the number of decisions."""
        return [counted(self.rows.height, "decision")]


def _subject(row: Mapping[str, Any]) -> str:
    return f"{row['quantity']} of {row['measure']}" if row["measure"] else str(row["quantity"])


def _judges_by_verdict(rows: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each verdict with its judges."""
    for verdict in VERDICTS:
        judges = rows.filter(verdict=verdict)["judge"].to_list()
        if judges:
            yield verdict, names_or_count(judges, "judge")


def decide(tolerances: Mapping[str, Any], *results: Result) -> Decisions:
    r"""Decide whether quantities of judges are within tolerances, by their confidence intervals.

    Parameters
    ----------
    tolerances
        Tolerance of each quantity; there are no defaults. At least: `kappa`, `alpha` (also at a
        cut, such as `kappa 0|12`), `agreement`; `tau` and `tau AP` of the rankings of systems;
        `difference(A, B)`, the prediction-powered mean score of system A minus that of B. At most:
        `self-preference`. At most in absolute value: `bias`, the mean difference of grades, and
        `score-bias`, the bias of the mean score of each system.
    results
        Results that have these quantities: of :func:`compare_judges`, :func:`judge_rankings`,
        :func:`score_bias`, :func:`self_preference`, :func:`ppi_scores`; of one confidence level.

    Returns
    -------
    Decisions
        With a verdict for each tolerance, judge and measure: `met` if the whole interval is within
        the tolerance, `not met` if it is outside, else `undecided`.

    Raises
    ------
    PolicyError
        For an unknown quantity, or one that no result has; for several confidence levels.

    Notes
    -----
    Each interval holds for one quantity of one judge. Those of `score-bias` are simultaneous for
    the systems (Bonferroni), and the row has the system that decides: all systems are within the
    tolerance, or one is outside.

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
    by_table: dict[str, list[Result]] = {}
    for result in results:
        for table in result.frames():
            by_table.setdefault(table, []).append(result)
    levels = {_level(result) for result in results}
    if len(levels) != 1:
        raise PolicyError("expected results of one confidence level")
    [level] = levels
    rows = []
    for name, tolerance in check_tolerances(tolerances, by_table).items():
        table, side = quantity_of(name)
        own = {"quantity": name, "comparison": side, "tolerance": tolerance}
        for result in by_table[table]:
            for row in _estimates(name, table, result, tolerance, side, level):
                verdict = verdict_of(row["low"], row["high"], tolerance, side)
                topics = row["topics"] if verdict == "undecided" else None
                rows.append({**row, **own, "verdict": verdict, "topics": topics})
    schema: dict[str, Any] = dict.fromkeys(Decisions.columns, pl.String)
    schema |= dict.fromkeys(("estimate", "low", "high", "tolerance"), pl.Float64)
    return Decisions(pl.DataFrame(rows, schema | {"topics": pl.Int64}), level)


def _level(result: Any) -> float:
    """Return the confidence level of a result."""
    confidence = vars(result).get("confidence")
    return float(round(1 - result.means.alpha if confidence is None else confidence, 12))


def _estimates(
    name: str, table: str, result: Any, tolerance: float, side: str, level: float
) -> Iterator[dict[str, Any]]:
    """Yield estimate and interval of a quantity, for each judge and measure of a result."""
    word, systems = split_name(name)
    frame = result.frames()[table]
    if table == "ppi":
        first, second = _pair(systems, result.systems)
        labels = {"judge": result.judge, "measure": result.measure}
        [row] = result.differences(second).filter(system=first).to_dicts()
        yield _row({**row, **labels, "system": ""}, "estimate")
    elif table == "intervals":
        frame = frame.filter(statistic=word)
        if frame.is_empty():
            raise PolicyError(f"the labels have no {word}, as the scale has other cuts")
        yield from (_row(row, "estimate") for row in frame.to_dicts())
    elif table == "rankings":
        frame = frame.drop("topics").rename({f"{word} low": "low", f"{word} high": "high"})
        yield from (_row(row, word) for row in frame.to_dicts())
    else:
        groups = ["measure", "judge"]
        for _, part in frame.drop_nulls("bias").group_by(groups, maintain_order=True):
            rows = [_row(row, "bias") for row in part.to_dicts()]
            row = _deciding(rows, tolerance, side)
            joint = 1 - (1 - level) / part.height
            yield {**row, "topics": _needed(row, tolerance, side, joint)}


def _row(row: Mapping[str, Any], value: str) -> dict[str, Any]:
    """Return the values of a row by the names of the columns of decisions."""
    labels = {name: row.get(name) or "" for name in ("judge", "measure", "system")}
    values = {"estimate": row[value], "low": row["low"], "high": row["high"]}
    numbers = {k: None if v is None or isnan(v) else v for k, v in values.items()}
    return {**labels, **numbers, "topics": row.get("topics")}


def _deciding(rows: list[dict[str, Any]], tolerance: float, side: str) -> dict[str, Any]:
    """Return the row that decides: one outside, else one undecided, else the largest."""
    return max(
        rows,
        key=lambda row: (
            VERDICTS.index(verdict_of(row["low"], row["high"], tolerance, side)),
            abs(row["estimate"]),
        ),
    )


def _needed(row: Mapping[str, Any], tolerance: float, side: str, level: float) -> int | None:
    """Return the number of topics whose t interval would exclude the tolerance."""
    if row["low"] is None or row["topics"] < 2:
        return None
    value = abs(row["estimate"]) if side == WITHIN else row["estimate"]
    half = (row["high"] - row["low"]) / 2
    return topics_to_decide(half, row["topics"], abs(value - tolerance), level)


def _pair(text: str, systems: tuple[str, ...]) -> tuple[str, str]:
    """Return the two systems in a text; a name may have commas."""
    parts = text.split(",")
    pairs = [
        (",".join(parts[:k]).strip(), ",".join(parts[k:]).strip()) for k in range(1, len(parts))
    ]
    matching = [pair for pair in pairs if set(pair) <= set(systems) and pair[0] != pair[1]]
    if len(matching) != 1:
        listed = ", ".join(systems)
        raise PolicyError(f"difference(A, B) requires two systems of: {listed}; got {quoted(text)}")
    return matching[0]
