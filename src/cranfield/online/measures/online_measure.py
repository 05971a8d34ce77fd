"""Base class of online measures: formulas over pages, sessions or users, and their text form."""

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
from cranfield.online.measures.page_table import required_columns

SUMS = ("total", "number", "values", "censored", "without")
"""Columns that are summed over the rows of a measure: two sums, and three numbers of values."""


_ZERO = pl.lit(0.0)


@dataclass(frozen=True)
class Sums:
    """Expressions over the rows of a measure, whose value is sum(total) / sum(number)."""

    total: pl.Expr
    number: pl.Expr | None = None  # By default 1 for each row with a total
    censored: pl.Expr = _ZERO  # Number of values for which only a lower bound is known
    missing: pl.Expr = _ZERO  # Number of unknown values, if values are not rows
    until: pl.Expr = _ZERO  # Lower bound of censored values

    def expressions(self) -> dict[str, pl.Expr]:
        number = self.total.is_not_null() if self.number is None else self.number
        return {**vars(self), "number": number}


class OnlineMeasure(Spec):
    """A measure of user behaviour, with its parameters.

    Its text form is its identity: :func:`parse_online_measure` parses it, and `measure @ 3` sets
    the last rank to consider.

    A measure is a ratio of two sums over rows, which are pages, sessions or users: a mean has the
    number 1 in each row with a value. Columns in its formulas, such as `clicked@3`, are computed as
    required.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_online_measure("ctr@3"), cf.online.parse_online_measure("CTR") @ 5
    (CTR@3, CTR@5)
    """

    error = MeasureError
    name: ClassVar[str] = ""
    formula: ClassVar[str] = ""  # In LaTeX
    source: ClassVar[str] = ""  # Publication that defines the measure
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    unit: ClassVar[str] = ""  # Unit of the values, such as seconds; empty for a proportion
    better: ClassVar[str] = ""  # `higher` or `lower`; empty if neither is better
    level: ClassVar[str] = "page"  # Kind of rows: `page`, `session` or `user`
    # Kind of objects with values, if not rows: `click` or `absence`
    object_kind: ClassVar[str] = ""
    # Whether values, such as times, may be censored
    may_be_censored: ClassVar[bool] = False

    @property
    def value_kind(self) -> str:
        """Kind of objects with values, in the singular."""
        return self.object_kind or self.level

    def sums(self) -> Sums:
        """Return the expressions over pages, or over the pages of each session or user."""
        raise NotImplementedError

    def summands(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Compute one row per page, session or user: its keys and its :class:`Sums`.

        A session belongs to a user or variant if all its pages do.
        """
        sums = self.sums().expressions()
        if not {*sums["until"].meta.root_names()} <= {*pages.columns}:
            sums["until"] = _ZERO
        if self.level == "page":
            return pages.select(*keys, **sums)
        columns = [pl.col(key) for key in keys if key != self.level]
        common_keys = [pl.when(key.n_unique() == 1).then(key.first()) for key in columns]
        rows = pages.filter(pl.col(self.level).is_not_null())
        return rows.group_by(self.level, maintain_order=True).agg(*common_keys, **sums)

    def rows(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Compute one row per page, session, user or absence: keys, :data:`SUMS` and `until`."""
        number, censored = pl.col("number").fill_null(0), pl.col("censored").fill_null(0)
        has_value = (number > 0) & pl.col("total").is_not_null()
        total, number = (pl.when(has_value).then(x).otherwise(0) for x in ("total", number))
        has_click_values = self.object_kind == "click"
        values = (number if has_click_values else has_value).cast(pl.Int64)
        missing = pl.col("missing").fill_null(0)
        return self.summands(pages, keys).select(
            *keys,
            "until",
            total=total.cast(pl.Float64),
            number=number.cast(pl.Float64),
            values=values,
            censored=censored.cast(pl.Int64),
            without=(missing if has_click_values else 1 - values - censored).cast(pl.Int64),
        )

    def columns(self, *, until: bool = False) -> set[str]:
        """Return the columns of pages in its formulas; with `until`, also in `Sums.until`."""
        sums = self.sums().expressions()
        expressions = (expression for name, expression in sums.items() if until or name != "until")
        names = {name for expression in expressions for name in expression.meta.root_names()}
        return names | ({self.level} - {"page"})

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The required columns of the log, as pairs (table, column)."""
        return required_columns(self.columns())

    def __matmul__(self, cutoff: Any) -> OnlineMeasure:
        if "cutoff" not in self.parameters:
            raise MeasureError(f"{self.name} cannot have a cutoff")
        return self._with({"cutoff": cutoff})

    def __str__(self) -> str:
        cutoff = getattr(self, "cutoff", None)
        suffix = "" if cutoff is None else f"@{cutoff}"
        return self.base_name() + self.parameter_text("cutoff") + suffix


def online_measure(
    formula: str, source: str, better: str = "", **attributes: Any
) -> Callable[[Callable[..., Sums]], type[OnlineMeasure]]:
    """Declare a measure by a function that returns its sums for given parameters.

    The measure has the name and docstring of the function, and the parameters of its signature.
    Without a unit it is a proportion, from 0 to 1 unless another `range` is declared.
    """
    members = {"formula": formula, "source": source, "better": better, **attributes}
    if "unit" not in members:
        members.setdefault("range", (0.0, 1.0))

    def declare(function: Callable[..., Sums]) -> type[OnlineMeasure]:
        defaults = {name: param.default for name, param in signature(function).parameters.items()}

        def sums(self: OnlineMeasure) -> Sums:
            return function(**{name: getattr(self, name) for name in defaults})

        name, documented = function.__name__, ("__doc__", "__module__")
        identity = {"name": name, **{field: getattr(function, field) for field in documented}}
        return type(name, (OnlineMeasure,), {**members, **identity, "sums": sums, **defaults})

    return declare


_PACKAGE: Any = {"package": "cranfield.online.measures", "decorators": "online_measure"}
MEASURES: Registry[type[OnlineMeasure]] = Registry(
    "online measure", "formulas", base=OnlineMeasure, **_PACKAGE
)
_AT_CUTOFF = re.compile(r"(.*)@\s*(\S+?)\s*", re.DOTALL)


def parse_online_measure(text: str | OnlineMeasure) -> OnlineMeasure:
    """Parse an online measure from its text form.

    Raises
    ------
    MeasureError
        For an unknown name, parameter or value, with suggestions.

    Examples
    --------
    >>> parse_online_measure("CTR@3"), parse_online_measure("sat-rate(seconds=20)")
    (CTR@3, SATRate(seconds=20))
    >>> parse_online_measure("CTRR")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: unknown online measure 'CTRR'; did you mean CTR or UCTR or QCTR?
    """
    if not isinstance(text, str) or not (match := _AT_CUTOFF.fullmatch(text)):
        return MEASURES.parse(text)
    if not match[2].isdecimal() or len(match[2]) > 9:
        raise MeasureError(f"{quoted(text)}: the cutoff after @ must be an integer")
    return MEASURES.parse(match[1]) @ int(match[2])


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
            "of": lambda kind: kind().value_kind,
            "parameters": parameters_of,
            "what it tells": summary_of,
            "formula": attrgetter("formula"),
            "lowest": lambda kind: kind.range[0],
            "highest": lambda kind: kind.range[1],
            "unit": attrgetter("unit"),
            "better": attrgetter("better"),
            "needs": lambda kind: _describe_needs(kind()),
            "source": attrgetter("source"),
        },
    )


def _describe_needs(measure: OnlineMeasure) -> str:
    """Describe the columns that a measure requires besides page, query and rank."""
    parts = []
    for table in ("results", "clicks", "pages"):
        columns = {name for table_name, name in measure.needs if table_name == table}
        names = sorted(columns - {"page", "rank", "query"})
        if names or (columns and table != "pages"):
            parts.append(f"{table} with {' and '.join(names)}" if names else table)
    return ", ".join(parts)
