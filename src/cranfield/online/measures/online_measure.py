"""What an online measure is: a formula over pages, sessions or users."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, ClassVar

import polars as pl

from cranfield.base.errors import MeasureError, quoted
from cranfield.base.spec import (
    Registry,
    Spec,
    choice,
    integer,
    number,
    optional,
    parameter,
    parameters_of,
    summary_of,
)
from cranfield.online.measures.page_table import LogTables, needs_of

LEVELS = ("page", "session", "user")
"""What a measure can have a value for."""


class OnlineMeasure(Spec):
    """A measure of what users did, with its parameters.

    Its text form is its identity: :func:`parse_online_measure` reads it back, and `measure @ 3`
    sets the last rank that counts.

    A measure is a ratio of two sums over rows, which are pages, sessions or users: a mean has a
    number of 1 in each row that has a value. What its formulas mention, such as `clicked@3`, is
    computed for it.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_online_measure("ctr@3"), cf.online.parse_online_measure("CTR") @ 5
    (CTR@3, CTR@5)
    """

    error = MeasureError
    name: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    """In LaTeX."""
    source: ClassVar[str] = ""
    """Where the definition stands."""
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    unit: ClassVar[str] = ""
    """What a value is a number of, such as seconds; empty of a share."""
    better: ClassVar[str] = ""
    """Whether `higher` or `lower` is better; empty where that is not said."""
    level: ClassVar[str] = "page"
    """What a row is: a page, a session or a user."""
    of: ClassVar[str] = ""
    """What has values, if not the rows: clicks, of which a page has several, or absences."""
    lasts: ClassVar[bool] = False
    """Whether it is a time, or another number that may not have been seen to its end."""

    @classmethod
    def called(cls) -> str:
        return cls.name

    @property
    def values_of(self) -> str:
        """What has values, in the singular."""
        return self.of or self.level

    def total(self) -> pl.Expr:
        """What is summed up: a value of each page, or an aggregate of the pages of a session."""
        raise NotImplementedError

    def number(self) -> pl.Expr | None:
        """What the sum is divided by; by default, the number of rows that have a value."""
        return None

    def censored(self) -> pl.Expr | None:
        """How many values are not known but as at least so much, if any can be."""
        return None

    def missing(self) -> pl.Expr | None:
        """How many values are not known, where they are not of the rows."""
        return None

    def until(self) -> pl.Expr | None:
        """What a censored value is at least."""
        return None

    def rows(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Return a row a page, session or user: its keys, `total`, `number`, `censored`, `until`.

        A session is of a user or variant if all its pages are.
        """
        named = {
            "total": self.total(),
            "number": self.number(),
            "censored": self.censored(),
            "missing": self.missing(),
            "until": self.until() if self._sees(pages) else None,
        }
        found = {name: one.alias(name) for name, one in named.items() if one is not None}
        if self.level == "page":
            return pages.select(*keys, *found.values())
        single = [
            pl.when(pl.col(key).n_unique() == 1).then(pl.col(key).first()).alias(key)
            for key in keys
            if key != self.level
        ]
        inside = pages.filter(pl.col(self.level).is_not_null())
        return inside.group_by(self.level, maintain_order=True).agg(*single, *found.values())

    def durations(
        self, tables: LogTables, pages: pl.DataFrame, keys: Iterable[str]
    ) -> pl.DataFrame:
        """Return how long each value lasts, of a measure that `lasts`: keys, `time`, `seen`."""
        rows = self.rows(pages, keys)
        until = pl.col("until") if "until" in rows.columns else pl.lit(0.0)
        ended = pl.col("total").is_not_null()
        open_ended = pl.when(pl.col("censored") > 0).then(until)
        lasted = pl.when(ended).then(pl.col("total")).otherwise(open_ended)
        return rows.select(*keys, time=lasted.cast(pl.Float64), seen=ended)

    def _sees(self, pages: pl.DataFrame) -> bool:
        until = self.until()
        return until is not None and {*until.meta.root_names()} <= {*pages.columns}

    def columns(self, *, until: bool = False) -> set[str]:
        """Return the columns of pages that its formulas mention."""
        said = [self.total(), self.number(), self.censored(), self.missing()]
        said += [self.until()] if until else []
        names = {name for one in said if one is not None for name in one.meta.root_names()}
        return names | ({self.level} if self.level != "page" else set())

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The columns of the log that it needs, each with its table."""
        return needs_of(self.columns())

    def __matmul__(self, at: Any) -> OnlineMeasure:
        if "cutoff" not in self.parameters:
            raise MeasureError(f"{self.name} takes no cutoff")
        made: OnlineMeasure = self._with({"cutoff": at})
        return made

    def __str__(self) -> str:
        at = getattr(self, "cutoff", None)
        return self.called() + self.shown("cutoff") + ("" if at is None else f"@{at}")


def last_rank() -> Any:
    """Make the parameter that stands behind the @."""
    return parameter(None, optional(integer(1)), "last rank that counts; any if not given")


def repeated(default: str) -> Any:
    """Make the parameter that says how often a result can count."""
    return parameter(
        default, choice("once", "count"), "whether a result that is clicked again counts `once`"
    )


def dwell_of(default: float, what: str) -> Any:
    """Make the parameter of a threshold of dwell time."""
    return parameter(default, number(0), what)


def unknown_dwell() -> Any:
    """Make the parameter that says what clicks of unknown dwell are."""
    return parameter(
        "drop",
        choice("drop", "sat", "not"),
        "clicks of unknown dwell are satisfied, are `not`, or what they could change has no value",
    )


MEASURES: Registry[type[OnlineMeasure]] = Registry(
    "online measure",
    """
    page_formulas: CTR UCTR QCTR COEC
    page_formulas: ClickRank ClickRR MaxRR MeanRR MinRR PLC pSkip
    page_formulas: TimeToClick TimeToSAT Dwell
    session_formulas: SATClicks SATRate DSAT DSATRate
    page_formulas: Abandonment ZeroResults GoodAbandonment AbandonedLast Reformulation
    session_formulas: QueriesPerSession SessionLength SessionClicks SessionSuccess QueriesToSAT
    session_formulas: QueriesPerUser SessionsPerUser ActiveDays QueriesPerActiveDay AbsenceTime
    """,
    package="cranfield.online.measures",
    base=OnlineMeasure,
    error=MeasureError,
)

_AT = re.compile(r"(.*)@\s*(\S+?)\s*", re.DOTALL)


def parse_online_measure(text: str | OnlineMeasure) -> OnlineMeasure:
    """Read an online measure from its text form.

    Raises
    ------
    MeasureError
        For a wrong name, parameter or value; naming the nearest right ones.

    Examples
    --------
    >>> parse_online_measure("CTR@3"), parse_online_measure("sat-rate(seconds=20)")
    (CTR@3, SATRate(seconds=20))
    >>> parse_online_measure("CTRR")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: unknown online measure 'CTRR'; did you mean CTR or UCTR or QCTR?
    """
    measure: OnlineMeasure
    if not isinstance(text, str) or not (at := _AT.fullmatch(text)):
        measure = MEASURES.parse(text)
        return measure
    if not at[2].isdecimal() or len(at[2]) > 9:
        raise MeasureError(f"{quoted(text)}: a whole number of ranks stands behind the @")
    measure = MEASURES.parse(at[1]) @ int(at[2])
    return measure


def catalogue() -> pl.DataFrame:
    """List the online measures: name, what has a value, parameters, what it tells, source, needs.

    Examples
    --------
    >>> catalogue().filter(pl.col("measure") == "ClickRR").select("of", "better", "needs").rows()
    [('page', 'higher', 'clicks with order')]
    """
    return MEASURES.table(
        "measure",
        {
            "of": lambda kind: kind().values_of,
            "parameters": parameters_of,
            "what it tells": summary_of,
            "formula": attrgetter("formula"),
            "lowest": lambda kind: kind.range[0],
            "highest": lambda kind: kind.range[1],
            "unit": attrgetter("unit"),
            "better": attrgetter("better"),
            "needs": lambda kind: _needs_in_words(kind()),
            "source": attrgetter("source"),
        },
    )


def _needs_in_words(one: OnlineMeasure) -> str:
    """Write what a measure needs besides pages, their queries, and the rank of a row."""
    said = []
    for table in ("results", "clicks", "pages"):
        own = {name for where, name in one.needs if where == table}
        names = sorted(own - {"page", "rank", "query"})
        if names or (own and table != "pages"):
            said.append(f"{table} with {' and '.join(names)}" if names else table)
    return ", ".join(said)
