"""Online measures: formulas over pages, sessions or users, and their text form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar

import polars as pl

from cranfield.base.errors import MeasureError, quoted
from cranfield.base.spec import Registry, Spec, parameters_of, summary_of
from cranfield.online.measures.page_table import LogTables, needs_of


@dataclass(frozen=True)
class Sums:
    """Expressions over the rows of a measure: its value is the sum of totals over that of numbers.

    number: 1 for each row that has a total, by default. censored: how many values are only known to
    be at least `until`. missing: how many values are unknown, if values are not those of the rows.
    """

    total: pl.Expr
    number: pl.Expr | None = None
    censored: pl.Expr | None = None
    missing: pl.Expr | None = None
    until: pl.Expr | None = None

    def expressions(self, columns: Iterable[str] | None = None) -> dict[str, pl.Expr]:
        """Return the expressions by name; `until` only if the columns suffice for it."""
        named = {name: one for name, one in vars(self).items() if one is not None}
        if "until" in named and not {*named["until"].meta.root_names()} <= {*(columns or ())}:
            del named["until"]
        return named


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
    """The publication that defines it."""
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    unit: ClassVar[str] = ""
    """Unit of the values, such as seconds; empty for a proportion."""
    better: ClassVar[str] = ""
    """Whether `higher` or `lower` is better; empty where that is not said."""
    level: ClassVar[str] = "page"
    """What a row is: a `page`, a `session` or a `user`."""
    of: ClassVar[str] = ""
    """What has values, if not the rows: clicks, of which a page has several, or absences."""
    lasts: ClassVar[bool] = False
    """Whether it is a time, or another number that may be censored."""

    @classmethod
    def called(cls) -> str:
        return cls.name

    @property
    def values_of(self) -> str:
        """What has values, in the singular."""
        return self.of or self.level

    def sums(self) -> Sums:
        """Return the expressions over pages, or over the pages of each session or user."""
        raise NotImplementedError

    def rows(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Return a row a page, session or user: its keys, `total`, `number`, `censored`, `until`.

        A session is of a user or variant if all its pages are.
        """
        sums = self.sums().expressions(pages.columns)
        if self.level == "page":
            return pages.select(*keys, **sums)
        single = [
            pl.when(pl.col(key).n_unique() == 1).then(pl.col(key).first()).alias(key)
            for key in keys
            if key != self.level
        ]
        inside = pages.filter(pl.col(self.level).is_not_null())
        return inside.group_by(self.level, maintain_order=True).agg(*single, **sums)

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

    def columns(self, *, until: bool = False) -> set[str]:
        """Return the columns of pages that its formulas mention."""
        sums = self.sums()
        expressions = list(sums.expressions().values())
        if until and sums.until is not None:
            expressions.append(sums.until)
        names = {name for one in expressions for name in one.meta.root_names()}
        return names | ({self.level} - {"page"})

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The columns of the log that it needs, each with its table."""
        return needs_of(self.columns())

    def __matmul__(self, at: Any) -> OnlineMeasure:
        if "cutoff" not in self.parameters:
            raise MeasureError(f"{self.name} takes no cutoff")
        return self._with({"cutoff": at})

    def __str__(self) -> str:
        at = getattr(self, "cutoff", None)
        return self.called() + self.shown("cutoff") + ("" if at is None else f"@{at}")


def online_measure(
    formula: str, source: str, **attributes: Any
) -> Callable[[Callable[..., Sums]], type[OnlineMeasure]]:
    """Declare a measure by a function from its parameters to its sums.

    The measure has the name and docstring of the function, and the parameters of its signature.
    """

    def declare(function: Callable[..., Sums]) -> type[OnlineMeasure]:
        defaults = {name: one.default for name, one in signature(function).parameters.items()}

        def sums(self: OnlineMeasure) -> Sums:
            return function(**{name: getattr(self, name) for name in defaults})

        texts = {"name": function.__name__, "formula": formula, "source": source}
        own = {"__doc__": function.__doc__, "__module__": function.__module__, "sums": sums}
        return type(function.__name__, (OnlineMeasure,), {**own, **texts, **attributes, **defaults})

    return declare


MEASURES: Registry[type[OnlineMeasure]] = Registry(
    "online measure",
    """
    formulas: CTR UCTR QCTR COEC
    formulas: ClickRank ClickRR MaxRR MeanRR MinRR PLC pSkip
    formulas: TimeToClick TimeToSAT Dwell
    formulas: SATClicks SATRate DSAT DSATRate
    formulas: Abandonment ZeroResults GoodAbandonment AbandonedLast Reformulation
    formulas: QueriesPerSession SessionLength SessionClicks SessionSuccess QueriesToSAT
    formulas: QueriesPerUser SessionsPerUser ActiveDays QueriesPerActiveDay AbsenceTime
    """,
    package="cranfield.online.measures",
    base=OnlineMeasure,
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
    if not isinstance(text, str) or not (at := _AT.fullmatch(text)):
        return MEASURES.parse(text)
    if not at[2].isdecimal() or len(at[2]) > 9:
        raise MeasureError(f"{quoted(text)}: a whole number of ranks stands behind the @")
    return MEASURES.parse(at[1]) @ int(at[2])


def catalogue() -> pl.DataFrame:
    """List the online measures with their parameters, formulas, sources and required columns.

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
