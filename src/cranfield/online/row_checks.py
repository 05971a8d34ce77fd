"""Whether the rows of a table are the units that were randomised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.sources.columns import Columns
from cranfield.sources.schemas import Schema, spelt
from cranfield.sources.values import Cells, absent

PEOPLE = re.compile(
    "(user|userpseudo|visitor|fullvisitor|client|customer|member|subscriber|account|person|subject"
    "|participant|patient|student|player|buyer|shopper|guest|household|owner|profile|cookie|login"
    "|unit|distinct|anonymous)(id|key|hash|guid)?|id|uid|uuid|guid|deviceid|email"
)
"""Columns of what is randomised."""

VISITS = re.compile("(session|visit)(id|key|hash)?|sid")

COUNTS = re.compile(
    "(n|num|numberof)?(users|visitors|customers|clients|members|subscribers|people|participants"
    "|subjects|patients|students|players|accounts|units|obs|samples)|n|samplesize|size|population"
    "|weights?|freq|frequency"
)
"""Columns of how many units a row stands for."""

TOTALS = re.compile(
    "(n|num|numberof)?(sessions|visits|impressions|views|pageviews|exposures|trials|attempts)"
    "|totals?|counts?"
)
"""Columns that are totals unless rows are known to be users: then they are other metrics."""

TIMES = re.compile("date|day|week|month|quarter|year|hour|period")

_UNLIKELY = 1e-3
"""Probability below which values that stay within one variant are no coincidence."""


def check_rows(
    columns: Columns,
    schema: Schema,
    variant: str | None,
    metrics: Sequence[str],
    denominators: Sequence[str],
) -> None:
    """Refuse rows that are parts of a unit, or totals of many units.

    The evidence: ids of users (or sessions) repeat; a column counts units; labels such as a day or
    country occur once in each variant; or the values of another column repeat, always within one
    variant. If the ids of users are all different, rows are users, and nothing else is tested.

    Raises
    ------
    PolicyError
        If rows are no units, with the column that says so.
    """
    places = schema.places(columns.names, columns.source)
    used = {k: name for name, k in places.items()}
    names = {k: str(name) for k, name in enumerate(columns.names) if k not in used}
    for known in (PEOPLE, VISITS):
        for k in (k for k, name in names.items() if known.fullmatch(spelt(name))):
            values = _texts(columns.cells(k)).drop_nulls()
            levels = values.n_unique()
            if 0 < levels < len(values):
                raise _repeated(names[k], levels, len(values), columns.source)
            if levels == len(columns.cells(k)) and known is PEOPLE:
                return
    for k, name in (*names.items(), *((places[name], name) for name in denominators)):
        word = spelt(name)
        if COUNTS.fullmatch(word) or (TOTALS.fullmatch(word) and k in names):
            number = _texts(columns.cells(k)).cast(pl.Float64, strict=False).drop_nulls()
            if (~number.is_in([0.0, 1.0])).any():
                raise PolicyError(
                    f"{columns.source}: expected one row per unit, got a column {quoted(name)}, so"
                    " that rows seem to be totals of many units: give the rows of the units; or"
                    " unit='row' if each row was randomised as a whole"
                )
    if variant is None:
        return
    arm = _texts(columns.cells(places[variant]))
    labels = [k for k in range(len(columns.names)) if used.get(k, "") not in {variant, *metrics}]
    texts = {str(columns.names[k]): _texts(columns.cells(k)) for k in labels}
    _check_totals(arm, texts, columns.source)
    for name in names.values():
        _check_nested(arm, name, texts[name], columns.source)


def _repeated(name: str, levels: int, rows: int, source: str) -> PolicyError:
    return PolicyError(
        f"{source}: expected one row per unit, got {rows:,} rows of {levels:,} values of"
        f" {quoted(name)}, whose rows are not independent: name the unit, such as unit={name!r}, or"
        " unit='row' if rows were randomised"
    )


def _texts(cells: Cells) -> pl.Series:
    if isinstance(cells, pl.Series) and not cells.dtype.is_nested():
        return cells.cast(pl.String, strict=False)
    return pl.Series([None if absent(one) else str(one) for one in cells], dtype=pl.String)


def _labels(texts: dict[str, pl.Series]) -> Iterator[str]:
    """Find columns of names and times; other columns of numbers may be metrics."""
    for name, values in texts.items():
        number = values.cast(pl.Float64, strict=False)
        if TIMES.fullmatch(spelt(name)) or number.null_count() > values.null_count():
            yield name


def _check_totals(arm: pl.Series, texts: dict[str, pl.Series], source: str) -> None:
    """Refuse a row per variant and label: each group of labels has each variant at most once."""
    names = [*_labels(texts)]
    rows = pl.DataFrame({"(arm)": arm, **{name: texts[name] for name in names}})
    rows = rows.filter(pl.col("(arm)").is_not_null())
    arms = rows["(arm)"].n_unique()
    for some in [*([name] for name in names), *([names] if len(names) > 1 else [])]:
        own = rows.select("(arm)", *some)
        if arms < 2 or own.is_duplicated().any():
            continue
        number = own.group_by(some).len()["len"]
        if 2 * number.filter(number == arms).sum() > len(rows):
            listed = " and ".join(map(quoted, some))
            raise PolicyError(
                f"{source}: expected one row per unit, got one row per variant and {listed}, which"
                " are totals of many units: give the rows of the units; or unit='row' if each row"
                " was randomised as a whole"
            )


def _check_nested(arm: pl.Series, name: str, values: pl.Series, source: str) -> None:
    """Refuse a column whose repeated values stay within one variant, as those of a unit do."""
    rows = pl.DataFrame({"arm": arm, "value": values}).drop_nulls()
    levels, arms = rows["value"].n_unique(), rows["arm"].n_unique()
    number = rows["value"].cast(pl.Float64, strict=False)
    if arms < 2 or levels == len(rows) or (number % 1 != 0).any():
        return
    groups = rows.group_by("value").agg(pl.len(), pl.col("arm").n_unique().alias("arms"), "arm")
    again = groups.filter(pl.col("len") > 1)
    if (again["arms"] > 1).mean() > 0.05:  # type: ignore[operator]
        return
    by_arm = again.group_by(pl.col("arm").list.first()).len()["len"]
    shares = rows["arm"].value_counts()["count"].to_numpy() / len(rows)
    probability = float((shares**2).sum()) ** float(again["len"].sum() - again.height)
    if len(by_arm) > 1 and (by_arm > 2).all() and probability < _UNLIKELY:
        raise _repeated(name, levels, len(rows), source)
