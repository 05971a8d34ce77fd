"""Values of online measures of a log, by variant, user, query, session or page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import InputError, MeasureError, PolicyError, check_choice, quote, warn
from cranfield.base.kinds import OneOf
from cranfield.base.text import inflect, list_some
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.online_measure import (
    MEASURES,
    SUM_COLUMNS,
    LogTables,
    OnlineMeasure,
    compute_page_table,
    find_required_columns,
    open_tables,
    parse_online_measure,
)
from cranfield.result import Column, Columns, TableResult, format_table
from cranfield.scores import Scores
from cranfield.sources.columns import make_pair_reader, read_table
from cranfield.sources.schemas import FileColumn, make_line_schema
from cranfield.sources.values import ID, NO_GRADE, is_absent
from cranfield.tabular import Table


def divide_sums(totals: Floats, counts: Floats) -> Floats:
    """Divide sums by counts; NaN if the count is 0."""
    ratios = np.full(totals.shape, np.nan)
    return np.asarray(np.divide(totals, counts, out=ratios, where=counts > 0))


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums of measures by unit, such as a user; returned by :func:`sums_by_unit`.

    The mean of a measure is the sum of `totals` divided by the sum of `counts`. If users are
    randomised and values belong to pages, this mean is a ratio of two random sums.

    Attributes
    ----------
    kind
        Kind of unit: user, session, query or page.
    units
        Ids of the units, in order of UTF-8 bytes.
    variant
        Index in `variants` of the variant of each unit, shape (units,); -1 without a variant.
    variants
        Names of the variants, in order.
    names
        Names of the measures.
    totals
        Numerator of each measure, such as the number of clicks, shape (units, measures).
    counts
        Denominator of each measure, such as the number of results, shape (units, measures).
    n_pages, n_unassigned
        Number of pages of the log, and number of excluded pages without a unit.
    """

    kind: str
    units: tuple[str, ...]
    variant: Indices
    variants: tuple[str, ...]
    names: tuple[str, ...]
    totals: Floats
    counts: Floats
    n_pages: int = 0
    n_unassigned: int = 0

    def __repr__(self) -> str:
        size = inflect(len(self.units), self.kind)
        return f"UnitSums({', '.join(self.names)}: {size}, {inflect(self.n_pages, 'page')})"

    @property
    def means(self) -> Floats:
        """Value of each measure by unit, shape (units, measures); NaN if there is no value."""
        return divide_sums(self.totals, self.counts)

    def to_polars(self) -> pl.DataFrame:
        """Return a table with the id, the variant and the values of each unit."""
        variant_names = pl.Series([*self.variants, None], dtype=pl.String)
        columns = {self.kind: pl.Series(self.units, dtype=pl.String)}
        # The code -1, of units without a variant, selects the last name, which is null.
        columns["variant"] = variant_names.gather(self.variant % len(variant_names))
        return pl.DataFrame({**columns, **dict(zip(self.names, self.means.T, strict=True))})


@dataclass(frozen=True, eq=False, repr=False)
class OnlineMeasurements(TableResult):
    """Values of online measures, by unit; returned by :func:`measure`.

    Each column of the table is also an attribute, of shape (units, measures). The mean of partly
    censored values is biased: see :func:`survival`.

    Attributes
    ----------
    rows
        The table, one row per unit and measure; units in order of UTF-8 bytes.
    by
        Columns that define the units, such as `("query", "variant")`; empty for the whole log.
    measures
        The measures.
    n_without_unit
        Number of rows without a unit by kind of row, such as `{"page": 3}`. A session with several
        variants, for example, has no variant.
    source
        Source of the log.
    click_order_notes
        Notes on measures that depend on the order of clicks without times.
    """

    name: ClassVar[str] = "measures"
    columns: ClassVar[Columns] = {
        "*": Column("Value of this column of `by`, which identifies the unit."),
        "measure": Column("Online measure.", key=True),
        "value": Column("total / count; null if there is no value."),
        "kind": Column("Kind of object that has a value, such as `page`."),
        "total": Column("Numerator of the value.", display=False),
        "count": Column("Denominator of the value.", display=False),
        "values": Column("Number of known values; censored values are not counted."),
        "censored": Column("Number of values for which only a lower bound is known."),
        "missing": Column("Number of missing values that are not censored."),
    }

    by: tuple[str, ...]
    measures: tuple[OnlineMeasure, ...]
    n_without_unit: dict[str, int] = field(default_factory=dict)
    source: str = "log"
    click_order_notes: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> NDArray[Any]:
        return super().__getattr__(name).reshape(-1, len(self.measures))

    @property
    def units(self) -> pl.DataFrame:
        """One row per unit, with the columns of `by`."""
        return self.rows.select(self.by).gather_every(max(1, len(self.measures)))

    @property
    def means(self) -> Floats:
        """Value of each unit and measure, shape (units, measures); NaN without a value."""
        return self.value

    def __getitem__(self, measure: str | OnlineMeasure) -> Floats:
        """Return the values of a measure, shape (units,)."""
        measure = parse_online_measure(measure)
        if measure not in self.measures:
            names = ", ".join(map(str, self.measures))
            raise MeasureError(f"{measure} was not measured; expected one of: {names}")
        return np.asarray(self.means[:, self.measures.index(measure)])

    def scores(self, measure: str | OnlineMeasure) -> Scores:
        """Return the values of a measure as scores for comparisons, with units as topics.

        Systems are the variants if values are grouped by a unit and `variant`; otherwise the log is
        the only system. The score of a unit without a value is NaN.

        Raises
        ------
        PolicyError
            If the values are not grouped by exactly one kind of unit, apart from the variant.
        MeasureError
            For another measure than those of the result.

        Examples
        --------
        >>> import cranfield as cf, polars as pl
        >>> pages = pl.DataFrame({"page": [0, 1], "query": "q", "variant": ["a", "b"]})
        >>> clicks = pl.DataFrame({"page": [1], "rank": [2]})
        >>> tables = {"pages": pages, "clicks": clicks}
        >>> measurements = cf.online.measure(tables, "UCTR", by=["query", "variant"])
        >>> measurements.scores("UCTR").values.tolist()
        [[0.0, 1.0]]
        """
        measure, unit_values = parse_online_measure(measure), self[measure]
        names = [key for key in self.by if key != "variant"]
        if len(names) != 1:
            expected = "scores require values by one kind of unit, such as by=['query', 'variant']"
            raise PolicyError(f"{expected}, got by={list(self.by)}")
        units = self.units
        if "variant" not in self.by:
            units = units.with_columns(variant=pl.lit(self.source))
        topics, systems = (units[key].unique().sort() for key in (names[0], "variant"))
        values = np.full((len(topics), len(systems)), np.nan)
        row, column = topics.search_sorted(units[names[0]]), systems.search_sorted(units["variant"])
        values[row.to_numpy(), column.to_numpy()] = unit_values
        return Scores(
            values,
            topics=tuple(topics),
            systems=tuple(systems),
            measure=str(measure),
            settings={"unit": names[0], "log": self.source},
            lower_is_better=measure.better == "lower",
        )

    def pivot_measures(self) -> pl.DataFrame:
        """Return a table with one row per unit and one column per measure; null without a value."""
        means = zip(map(str, self.measures), self.means.T, strict=True)
        columns = [pl.Series(name, column).fill_nan(None) for name, column in means]
        return pl.DataFrame([*self.units.get_columns(), *columns])

    @property
    def notes(self) -> list[str]:
        """Notes on the order of clicks, on censored values, and on rows without a unit."""
        notes = [*self.click_order_notes]
        totals = self.values.sum(axis=0), self.censored.sum(axis=0)
        for measure, n_values, n_censored in zip(self.measures, *totals, strict=True):
            if n_censored:
                size = inflect(int(n_values), measure.value_kind)
                subject = f"{n_censored:,} others ({n_censored / (n_values + n_censored):.1%})"
                notes.append(f"{measure}: mean of {size}, biased because {subject} are censored")
        if row_texts := [inflect(number, kind) for kind, number in self.n_without_unit.items()]:
            # A session may have several variants, but a page has at most one.
            problem = "no" if {*self.n_without_unit} == {"page"} else "no unique"
            notes.append(f"{', '.join(row_texts)} excluded: {problem} {' or '.join(self.by)}")
        return notes

    def tables(self) -> list[Table]:
        return [format_table(self.pivot_measures() if self.by else self.rows, "", self.columns)]

    def heading(self) -> list[str]:
        by = f", by {', '.join(self.by)}" if self.by else ""
        return [f"Online measures of {self.source}{by}"]


GROUP_COLUMNS = ("variant", "user", "query", "session", "page")  # Columns to group values by
# Kinds of units that are smaller than the rows of a measure, by its level
FINER_UNITS = {"page": (), "session": ("page", "query"), "user": ("page", "query", "session")}


_LABEL = replace(ID, read=lambda x: None if is_absent(x, NO_GRADE) else ID.read(x), types=None)
LABELS = make_line_schema(
    "table of labels of pages",
    *(FileColumn("page", ID), FileColumn("label", _LABEL)),
    read_mapping=make_pair_reader("page", "label"),
)

Log = QueryLog | Mapping[str, Any] | LogTables


def measure(
    log: Log,
    measures: str | OnlineMeasure | Iterable[str | OnlineMeasure] | None = None,
    by: str | Sequence[Annotated[str, OneOf(GROUP_COLUMNS)]] | None = None,
    *,
    labels: Any = None,
) -> OnlineMeasurements:
    """Compute online measures of a log.

    Parameters
    ----------
    log
        A query log; or a mapping of `pages`, `results` and `clicks` to tables of any library that
        narwhals supports, such as lazy frames of polars or relations of DuckDB. Tables must have
        the column `page`, pages also `query`, and results and clicks also `rank`; all clicks must
        be on results of the log. Other columns are those of :class:`QueryLog`. Results and clicks
        are counted by the engine of the tables, one table at a time, so that tables may be larger
        than memory.
    measures
        Online measures, such as `CTR@3`; by default all for which the log has the columns.
    by
        Columns by which to group the pages: `variant`, `user`, `query`, `session` or `page`, or
        several of them; by default the whole log is one group. A session or user belongs to a
        variant, query or other group if all its pages do.
    labels
        Labels of pages, for `GoodAbandonment`: a mapping from ids of pages to labels, or
        a table with columns `page` and `label`, in memory or in a file.

    Returns
    -------
    OnlineMeasurements
        Value of each unit and measure, with the numbers of known, censored and missing values.

    Raises
    ------
    MeasureError
        For an unknown or repeated measure, an empty list, or a measure whose values belong to
        larger units than those of `by`.
    InputError
        For a measure, or a name in `by`, that requires a column that the log does not have, and for
        invalid tables or labels.
    PolicyError
        For an unknown or repeated column of `by`, and for labels that no measure uses.

    Notes
    -----
    A value is the sum of `total` over rows divided by the sum of `count`. Sums are taken over
    integers or over sorted values, so that any engine gives the same result to the bit.

    Examples
    --------
    >>> import polars as pl
    >>> pages = pl.DataFrame({"page": [0, 1], "query": ["a", "b"]})
    >>> results = pl.DataFrame({"page": [0, 0, 1, 1], "rank": [1, 2, 1, 2]})
    >>> clicks = pl.DataFrame({"page": [1], "rank": [2], "order": [1]})
    >>> log = {"pages": pages, "results": results, "clicks": clicks}
    >>> measurements = measure(log, ["CTR", "ClickRR"])
    >>> measurements["CTR"].item(), measurements["ClickRR"].item()
    (0.25, 0.25)
    """
    keys = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    tables, parsed_measures, pages = prepare_pages(log, measures, keys, labels)
    values = _measure_units(tables, parsed_measures, pages, keys)
    names = [str(measure) for measure in parsed_measures if ("clicks", "order") in measure.needs]
    if not (names and isinstance(log, QueryLog)):
        return values
    notes = log.describe_click_order(", ".join(names))
    return replace(values, click_order_notes=tuple(notes))


def _measure_units(
    tables: LogTables, measures: Sequence[OnlineMeasure], pages: pl.DataFrame, keys: Sequence[str]
) -> OnlineMeasurements:
    units = pages.select(keys).drop_nulls().unique().sort(keys) if keys else pl.DataFrame()
    n_units = units.height if keys else 1
    sums = np.zeros((len(SUM_COLUMNS), n_units, len(measures)))
    n_without_unit: dict[str, int] = {}
    for k, measure in enumerate(measures):
        rows = measure.rows(pages, keys)
        if keys:
            unit_rows = units.with_row_index("unit")
            rows = rows.join(unit_rows, on=list(keys), how="left", maintain_order="left")
            if n_missing := rows["unit"].null_count():
                n_without_unit[measure.row_kind] = n_missing
            rows = rows.drop_nulls("unit")
        unit_index = rows["unit"].to_numpy() if keys else np.zeros(rows.height, dtype=np.intp)
        for name, unit_sums in zip(SUM_COLUMNS, sums[..., k], strict=True):
            unit_sums[:] = _sum_by_index(unit_index, rows[name].to_numpy(), n_units)
    sum_columns = {name: column.ravel() for name, column in zip(SUM_COLUMNS, sums, strict=True)}
    sum_columns |= {name: sum_columns[name].astype(int) for name in SUM_COLUMNS[2:]}
    table = {
        **(units[np.repeat(np.arange(n_units), len(measures))] if keys else units).to_dict(),
        "measure": pl.Series([*map(str, measures)] * n_units, dtype=pl.String),
        "value": pl.Series(divide_sums(*sums[:2]).ravel()).fill_nan(None),
        "kind": pl.Series([measure.value_kind for measure in measures] * n_units, dtype=pl.String),
        **sum_columns,
    }
    options = tuple(keys), tuple(measures), n_without_unit, tables.source
    return OnlineMeasurements(pl.DataFrame(table), *options)


def _sum_by_index(index: NDArray[Any], values: Floats, size: int) -> Floats:
    """Sum values by index; fractions are sorted first, so that sums are reproducible."""
    if (values != np.floor(values)).any():
        order = np.argsort(values)
        index, values = index[order], values[order]
    return np.asarray(np.bincount(index, values, size))


def sums_by_unit(
    log: Log, measures: Iterable[str | OnlineMeasure] | str | None = None, unit: str = "user"
) -> UnitSums:
    """Sum the values of measures by unit, for experiments.

    Parameters
    ----------
    log, measures
        As for :func:`measure`.
    unit
        Kind of unit: `user`, `session`, `query` or `page`. A unit with pages of several variants
        has no variant. Pages without a unit are excluded and counted.

    Examples
    --------
    >>> import polars as pl
    >>> pages = pl.DataFrame({"page": [0, 1], "query": "q", "user": ["a", "b"], "variant": "x"})
    >>> results = pl.DataFrame({"page": [0, 0, 1, 1], "rank": [1, 2, 1, 2]})
    >>> clicks = pl.DataFrame({"page": [1], "rank": [2]})
    >>> tables = {"pages": pages, "results": results, "clicks": clicks}
    >>> sums = sums_by_unit(tables, "CTR")
    >>> sums.totals.tolist(), sums.counts.tolist(), sums.variants
    ([[0.0], [1.0]], [[2.0], [2.0]], ('x',))
    """
    check_choice("unit", unit, GROUP_COLUMNS[1:])
    tables = open_tables(log)
    keys = (unit, *({"variant"} & tables.columns["pages"]))
    _, parsed_measures, pages = prepare_pages(tables, measures, keys)
    sums = _measure_units(tables, parsed_measures, pages, (unit,))
    if not sums.units.height:
        raise InputError(f"no page has a {unit}", source=tables.source)
    variants: tuple[str, ...] = ()
    codes = np.full(sums.units.height, -1, dtype=np.intp)
    if "variant" in keys:
        variant = pl.when(pl.col("variant").n_unique() == 1).then(pl.col("variant").first())
        unit_variants = pages.group_by(unit).agg(variant=variant)
        units = sums.units.join(unit_variants, on=unit, how="left", maintain_order="left")
        variants = tuple(units["variant"].drop_nulls().unique().sort())
        ranks = units["variant"].rank("dense").cast(pl.Int64).fill_null(0)
        codes = ranks.to_numpy().astype(np.intp) - 1
    measure_names = tuple(map(str, parsed_measures))
    sum_fields = sums.total, sums.count, pages.height, pages[unit].null_count()
    return UnitSums(unit, tuple(sums.units[unit]), codes, variants, measure_names, *sum_fields)


def prepare_pages(
    log: Log, measures: Any, keys: Sequence[str], labels: Any = None, *, adds_bounds: bool = False
) -> tuple[LogTables, list[OnlineMeasure], pl.DataFrame]:
    """Return tables, parsed measures, and pages with the columns of measures and text keys."""
    tables = open_tables(log)
    for key in keys:
        check_choice("by", key, GROUP_COLUMNS)
        if tables.describe_missing([("pages", key)]):
            raise InputError(f"by={key!r} requires the column {key} of pages", source=tables.source)
        if keys.count(key) > 1:
            raise PolicyError(f"by must name distinct columns, got {quote(key)} twice")
    selection = _parse_measures(measures, keys, tables, labels is not None)
    timed_measures = [m for m in selection if m.unit == "seconds" and ("pages", "time") in m.needs]
    columns = {name for measure in selection for name in measure.columns()} | {*keys} - {"page"}
    if adds_bounds:  # Columns for the lower bounds of censored values, if the log has them
        bounds = {name for measure in selection for name in measure.columns(with_lower_bound=True)}
        columns |= {n for n in bounds if not tables.describe_missing(find_required_columns([n]))}
    pages = compute_page_table(tables, columns - {"label"} | {"id"} & tables.columns["pages"])
    days = pages["time"].dt.truncate("1d") if timed_measures else pl.Series([], dtype=pl.Datetime)
    if len(days) and (pages["time"] == days).all() and (days.dt.year() > 1970).any():
        note = f"all times of pages are midnight, so {timed_measures[0]} is rounded to days"
        warn(f"{tables.source}: {note}")
    if labels is not None:
        labelled_measures = [m for m in selection if m.name == "GoodAbandonment"]
        if not labelled_measures:
            expected = "a measure that uses labels, such as GoodAbandonment"
            raise PolicyError(f"labels=... requires {expected}")
        label_names = [vars(measure)["label"] for measure in labelled_measures]
        pages = _add_labels(pages, labels, label_names, tables.source)
    if "page" in keys and "id" in pages.columns:
        pages = pages.with_columns(page=pl.col("id"))
    return tables, selection, pages.with_columns(pl.col(keys).cast(pl.String))


def _parse_measures(
    measures: Any, keys: Sequence[str], tables: LogTables, has_labels: bool
) -> list[OnlineMeasure]:
    label_column = {("pages", "label")} if has_labels else set()
    texts = [measures] if isinstance(measures, (str, OnlineMeasure)) else measures
    candidates = [*map(parse_online_measure, MEASURES if texts is None else texts)]
    if len({*candidates}) < len(candidates):
        repeated_measure = next(m for m in candidates if candidates.count(m) > 1)
        raise MeasureError(f"online measures must be distinct, got {repeated_measure} twice")
    if not candidates:
        raise MeasureError("expected at least one online measure, got none")
    selection = []
    for measure in candidates:
        unit = next((key for key in keys if key in FINER_UNITS[measure.level]), "")
        missing_text = tables.describe_missing(measure.needs - label_column)
        if not (unit or missing_text):
            selection.append(measure)
        elif measures is not None and unit:
            reason = f"is a measure of {measure.level}s and cannot be computed by {unit}"
            raise MeasureError(f"{measure} {reason}")
        elif measures is not None:
            hint = "; set labels=..." if ("pages", "label") in measure.needs else ""
            raise InputError(f"{measure} requires {missing_text}{hint}", source=tables.source)
    if not selection:
        reason = "expected results, clicks, sessions or times for online measures, got none"
        raise InputError(reason, source=tables.source)
    return selection


def _add_labels(pages: pl.DataFrame, labels: Any, names: list[str], source: str) -> pl.DataFrame:
    """Add labels to pages by id; each label in `names` must occur, and in one spelling only."""
    table = read_table(labels, LABELS)
    key = "id" if "id" in pages.columns else "page"
    ids = pages.select(page=pl.col(key).cast(pl.String))
    frame = table.frame.select("page", "label")
    for page in frame["page"].filter(frame["page"].is_duplicated()):
        raise InputError(f"page {quote(page)} has more than one label", source=table.source)
    for page in frame.join(ids, on="page", how="anti")["page"]:
        raise InputError(f"unknown page {quote(page)}: it is not in {source}", source=table.source)
    label = ids.join(frame, on="page", how="left", maintain_order="left")["label"]
    spellings = label.drop_nulls().unique().sort()
    for name in names:
        if [text for text in spellings if text.casefold() == name.casefold()] != [name]:
            problem = "pages have several spellings of" if name in spellings else "no page has"
            label_list = list_some(map(quote, spellings), 6)
            reason = f"{problem} the label {quote(name)}; labels: {label_list}"
            raise InputError(reason, source=source)
    return pages.with_columns(label)
