"""Read the units of experiments: their variants, and the columns of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    check_choice,
    quote,
    warn,
)
from cranfield.base.text import inflect, list_some
from cranfield.online.experiments.estimates import (
    ONES_COLUMN,
    Metric,
    MetricColumns,
    Moments,
    compute_moments,
    compute_skewness,
)
from cranfield.online.experiments.unit_rows import (
    CONTROLS,
    MIN_REPEATS,
    TIME_NAMES,
    Names,
    UnitTable,
    check_rows,
    check_second_variants,
    hint_at_names,
    note_repeated_users,
    note_unused_labels,
    note_users_of_rows,
    warn_of_long_table,
    warn_of_repeated_rows,
)
from cranfield.online.log.cells import TIME as LOG_TIME
from cranfield.online.log.query_log import QueryLog, format_count
from cranfield.online.measures.measuring import UnitSums, sums_by_unit
from cranfield.online.measures.online_measure import OnlineMeasure, parse_online_measure
from cranfield.sources.columns import Table, read_columns, read_mapping_columns
from cranfield.sources.schemas import FileColumn, Schema, fold_name
from cranfield.sources.summaries import suspect_totals
from cranfield.sources.values import (
    ID,
    NO_SCORE,
    NO_USER,
    NUMBER,
    TAG,
    ValueKind,
    is_absent,
    parse_number,
)

MIXED_POLICIES = ("drop", "error")  # How to treat units in several variants
MISSING_POLICIES = ("error", "drop", "zero")  # How to treat missing values
TIME = "(time)"  # Copy of the time column, which may also be a metric
ROW = "row"  # Name of the unit if rows were randomised and no column has this name

_TRUTH_VALUES = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "t": 1.0, "f": 0.0}


def _read_number(cell: Any) -> float | None:
    if isinstance(cell, str):
        return _TRUTH_VALUES.get(cell.strip().lower(), parse_number(cell))
    return parse_number(int(cell) if isinstance(cell, (bool, np.bool_)) else cell)


_UNIT_KIND = replace(ID, becomes_null=is_absent)
_METRIC_KIND = replace(
    NUMBER, read=_read_number, becomes_null=lambda cell: is_absent(cell, NO_SCORE)
)
_LABEL_KIND = replace(
    TAG,
    read=lambda cell: str(cell) if isinstance(cell, (bool, np.bool_)) else TAG.read(cell),
    problem="not text, an integer or a boolean",
    becomes_null=is_absent,
)
DATE_PATTERN = r"^\d{4}-\d{2}-\d{2}"  # Start of times as text, which then sort in order of time

_TIME_KIND = ValueKind(
    lambda x: None if is_absent(x) else str(x).strip(), problem="not a time", becomes_null=is_absent
)


@dataclass(frozen=True, eq=False)
class Units:
    """Units of an experiment, one per row."""

    source: str  # Source of the data, for messages
    kind: str  # Kind of unit, such as `user`
    ids: pl.Series | None  # Ids of the units, or None if a row is a unit
    variants: tuple[str, ...]  # The variants, the control first
    variant_codes: Indices  # Index of the variant of each unit
    columns: Floats  # Columns of the metrics, shape (units, columns); the first column is all 1
    metric_columns: dict[str, MetricColumns]  # Indices of the columns of each metric
    # Levels of each segment, and the index of the level of each unit; -1 without a level
    segments: dict[str, tuple[tuple[str, ...], Indices]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # Notes, such as on excluded and merged rows
    times: pl.Series | None = None  # Ascending times of the units, or None if unknown

    @property
    def counts(self) -> dict[str, int]:
        """Number of units of each variant."""
        sizes = np.bincount(self.variant_codes, minlength=len(self.variants))
        return dict(zip(self.variants, map(int, sizes), strict=True))

    def compute_moments(self) -> Moments:
        return compute_moments(self.columns, self.variant_codes, (len(self.variants),))

    def compute_skewness(self, gradient: Floats, treatment: int) -> float:
        """Compute the skewness of a linear function of the columns in the control and a variant."""
        is_compared = (self.variant_codes == 0) | (self.variant_codes == treatment)
        return compute_skewness(self.columns[is_compared] @ gradient)

    def is_proportion(self, metric: MetricColumns) -> bool:
        """Return whether a metric is the mean of values 0 and 1."""
        is_mean = metric.denominator == ONES_COLUMN and metric.covariate < 0
        column = self.columns[:, metric.numerator]
        return is_mean and bool(((column == 0) | (column == 1)).all())


def read_units(
    data: Any,
    metrics: Mapping[str, Metric],
    *,
    variant: str | None = "variant",
    unit: str | None = None,
    control: str | None = None,
    variants: Sequence[str] | None = None,
    segments: Sequence[str] = (),
    time: str | None = None,
    mixed: str = "drop",
    missing: str = "error",
) -> Units:
    """Read a table with the variant of each unit and the columns of metrics."""
    metric_names = [name for metric in metrics.values() for name in metric.list_columns()]
    names = list(dict.fromkeys(filter(None, metric_names)))
    _check_uses([unit, variant, *names], [*segments, *{time}.difference(segments)], variant)
    labels = [name for name in dict.fromkeys([*segments, time]) if name and name not in names]
    kinds = {name: _TIME_KIND if name == time else _LABEL_KIND for name in labels}
    kinds |= dict.fromkeys(names, _METRIC_KIND)
    if variant:
        kinds[variant] = _LABEL_KIND
    denominators = [name for metric in metrics.values() if (name := metric.list_columns()[1])]
    table, unit, notes = _read_table(data, kinds, unit, variant, denominators, missing)
    frame, source = table.frame, table.source
    if variant is None:
        variant = "(variant)"
        frame = frame.with_columns(pl.lit("all").alias(variant))
    null_counts = {name: count for name in names if (count := frame[name].null_count())}
    for name, count in null_counts.items() if missing == "error" else ():
        reason = f"column {quote(name)} has no value in {inflect(count, 'row')}"
        remedy = "missing='drop' excludes them from its means, missing='zero' counts them as 0"
        raise InputError(f"{reason}; {remedy}", source=source)
    if null_counts and missing == "zero":
        notes.append(f"{inflect(sum(null_counts.values()), 'missing value')} counted as 0")
        frame = frame.with_columns(pl.col(names).fill_null(0.0))
    if time is not None:
        # A unit with several rows has the time, and the segments, of its earliest row.
        frame = frame.with_columns(_convert_times(frame[time], source).alias(TIME))
        frame = frame.sort(TIME, nulls_last=True, maintain_order=True)
        labels = [TIME, *(name for name in labels if name != time or name in segments)]
    if unit:
        sorted_table = replace(table, frame=frame)
        constants = _check_sums(frame, unit, metrics, source)
        column_names = unit, variant, names, labels
        frame, unit_notes = _sum_by_unit(sorted_table, *column_names, mixed, constants)
        notes += unit_notes
    if n_excluded := frame[variant].null_count():
        notes.append(f"{inflect(n_excluded, unit or 'row')} excluded: no variant")
        frame = frame.filter(pl.col(variant).is_not_null())
    notes += _note_values(frame, names, metrics, unit or "row")
    ordered_variants = order_variants(frame[variant], control, variants, source)
    columns = _collect_columns(frame, metrics)
    levels = {name: _encode_levels(frame[name]) for name in segments}
    for name, (_, level_codes) in levels.items():
        if n_without := int((level_codes < 0).sum()):
            subject = inflect(n_without, unit or "row")
            notes.append(f"{subject} excluded from the levels of {name}: no value")
    if time is not None:
        day_levels, day_notes = _encode_days(frame[TIME], time, source)
        levels |= {name: day_levels[name] for name in day_levels if name not in levels}
        notes += day_notes
    ids, codes = frame[unit] if unit else None, _encode_labels(frame[variant], ordered_variants)
    identity = source, unit or "unit", ids, ordered_variants, codes
    return Units(*identity, *columns, levels, tuple(notes), frame[TIME] if time else None)


def _note_values(
    frame: pl.DataFrame, names: Names, metrics: Mapping[str, Metric], noun: str
) -> Iterator[str]:
    """Return notes on missing values, and on values of a ratio whose denominator is 0."""
    if n_missing := sum(frame[name].null_count() for name in names):
        subject = inflect(n_missing, "missing value")
        yield f"{subject} excluded from the means of their metrics"
    for name, metric in metrics.items():
        value, divisor = metric.list_columns()[:2]
        is_contradiction = (pl.col(divisor) == 0) & (pl.col(value) != 0)
        if divisor and (n_rows := frame.filter(is_contradiction).height):
            yield f"{name}: {inflect(n_rows, noun)} with {divisor} = 0, but {value} other than 0"


def _encode_days(
    times: pl.Series, name: str, source: str
) -> tuple[dict[str, tuple[tuple[str, ...], Indices]], list[str]]:
    """Return the days of times as levels for sample ratios, or a note if they are unknown."""
    if n_missing := times.null_count():
        reason = f"column {quote(name)} has {inflect(n_missing, 'row')} without a time"
        raise InputError(reason, source=source)
    if times.dtype == pl.String:
        return {"day": _encode_levels(times.str.slice(0, 10))}, []
    if fold_name(name) in TIME_NAMES:
        return {name: _encode_levels(times)}, []
    return {}, [f"sample ratios by day are not tested, as {name} has numbers instead of dates"]


def _read_table(
    data: Any,
    kinds: Mapping[str, ValueKind],
    unit: str | None,
    variant: str | None,
    denominators: Names,
    missing: str,
) -> tuple[Table, str | None, list[str]]:
    """Read a table; return it with its column of units (None if rows are units) and notes."""
    unit_columns = [] if unit is None else [FileColumn(unit, _UNIT_KIND, None)]
    decisive_kinds: tuple[str, ...] = ("status", "currency", "measure", "experiment", "exposure")
    decisive_kinds += () if unit == ROW else ("weight", "assignment weight")
    file_columns = [FileColumn(name, kinds[name], None) for name in kinds if name != unit]
    schema_columns = (*file_columns, *unit_columns)
    schema = Schema("table of units", schema_columns, read_mapping=read_mapping_columns)
    schema = replace(schema, is_selected=True, decisive_kinds=decisive_kinds)
    columns = read_columns(data, schema)
    spellings = [*map(fold_name, columns.names)]
    if missing_names := [name for name in kinds if fold_name(name) not in spellings]:
        hint = hint_at_names(missing_names, [*map(str, columns.names)], variant)
        # A hint is a format string, so its braces are doubled.
        schema = replace(schema, hint=hint.replace("{", "{{").replace("}", "}}"))
    is_by_row = unit == ROW and ROW not in spellings
    if is_by_row:
        schema, unit = replace(schema, columns=schema.columns[:-1]), None
    unit_table = UnitTable(columns, schema, variant)
    check_second_variants(unit_table)
    metrics = [name for name, kind in kinds.items() if kind is _METRIC_KIND]
    if unit is None and not is_by_row:
        check_rows(unit_table, metrics, denominators)
    table, notes = columns.make_table(schema), note_unused_labels(unit_table, unit)
    notes += note_users_of_rows(unit_table, unit) if variant else ()
    id_columns = [unit_table.positions[unit]] if unit else unit_table.unused_positions
    unit_table.check_last_row(id_columns, table.frame.select(metrics))
    if unit:
        table.check(suspect_totals(unit))
        warn_of_long_table(unit_table, unit)
        warn_of_repeated_rows(unit_table, unit)
        if n_without := table.frame[unit].null_count():
            subject = inflect(n_without, "row")
            if missing == "error":
                problem = f"column {quote(unit)} has no value in {subject}"
                raise InputError(f"{problem}; missing='drop' excludes them", source=table.source)
            notes.append(f"{subject} excluded: no {unit}")
            table = replace(table, frame=table.frame.drop_nulls(unit))
    return table, unit, notes


def _check_uses(columns: list[str | None], labels: list[str | None], variant: str | None) -> None:
    """Refuse columns with two uses or no name; labels (segments, time) may also be metrics."""
    names = [name for name in columns if name is not None]
    label_names = [name for name in labels if name is not None]
    names += [name for name in label_names if name in {"", variant} or label_names.count(name) > 1]
    if invalid_names := [name for name in names if not name or names.count(name) > 1]:
        expected = "unit, variant, metric, segment and time must be different columns"
        problem = f"{quote(invalid_names[0])} twice" if invalid_names[0] else "an empty name"
        raise PolicyError(f"{expected}, got {problem}")


_FIRST_YEAR = 1990  # Numbers are times since 1970 if all are in this year or later


def _convert_times(times: pl.Series, source: str) -> pl.Series:
    """Return sortable times: text that starts with a date, or numbers if there are no dates."""
    numeric_times = times.cast(pl.Float64, strict=False)
    if numeric_times.null_count() == times.null_count():
        dates, bad_row = LOG_TIME.convert_column("time", times)
        if bad_row is not None:
            raise InputError(LOG_TIME.describe_invalid("time", times[bad_row]), source=source)
        has_dates = (dates.dt.year() >= _FIRST_YEAR).all()
        return dates.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f") if has_dates else numeric_times
    if not (is_dated := times.str.contains(DATE_PATTERN)).all():
        expected = "expected a number or a time that starts with a date such as 2026-03-01"
        raise InputError(f"{expected}, got {quote(times.filter(~is_dated)[0])}", source=source)
    return times


_RATES = {"rate", "ratio", "ctr", "cvr", "pct", "percent", "percentage", "position", "score"}
_MEANS = {"avg", "average", "mean", "median"}
_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _is_rate(name: str) -> bool:
    """Return whether a name, such as `avg_position` or `bounceRate`, is that of a rate or mean."""
    words = [word.lower() for word in _WORD.findall(name)] or [""]
    is_rate = words[0] in _MEANS | {"ctr", "cumulative", "cum"} or words[-1] in _RATES | _MEANS
    return is_rate and not {"total", "sum"} & {*words}


def _check_sums(
    frame: pl.DataFrame, unit: str, metrics: Mapping[str, Metric], source: str
) -> set[str]:
    """Refuse to sum rates over the rows of a unit; return covariates that are constant in units."""
    if frame[unit].n_unique() == frame.height:
        return set()
    ratios = [metric.list_columns() for metric in metrics.values()]
    summed_columns = {name for ratio in ratios for name in ratio[:2]}
    constants = set()
    for covariate in ({*ratio[2:]} - {""} for ratio in ratios):
        is_constant = frame.group_by(unit).agg(pl.col(sorted(covariate)).n_unique() == 1)
        if not covariate & summed_columns and all(is_constant[name].all() for name in covariate):
            constants |= covariate
    sums = {ratio[k] for ratio in ratios for k in (0, 2) if not ratio[k + 1]} - constants - {""}
    remedy_for_rate = "for a rate, divide two sums, such as clicks/impressions"
    for name in sorted(sums):
        values = frame[name].drop_nulls()
        if _is_rate(name):
            expected = f"a column of amounts, which are summed over the rows of each {unit}"
            remedy = f"{remedy_for_rate}; if {name} is an amount, rename it, such as total_{name}"
            reason = f"expected {expected}, got {quote(name)}; {remedy}"
            raise InputError(reason, source=source)
        if values.is_between(0, 1).all() and (values % 1 > 0).any():
            note = f"{quote(name)} has values from 0 to 1, which are summed over the rows of each"
            warn(f"{source}: {note} {unit}; {remedy_for_rate}")
    repeated_rows = frame.filter(pl.col(unit).is_duplicated())
    for name in sorted(summed_columns - constants - {""}):
        units = repeated_rows.group_by(unit).agg(pl.first(name), pl.n_unique(name).alias("(n)"))
        has_equal_rows = len(units) >= MIN_REPEATS and (units["(n)"] == 1).all()
        if has_equal_rows and units[name].n_unique() > 1:
            note = f"{quote(name)} is equal in all rows of each {unit}, and these rows are summed"
            warn(f"{source}: {note}; if it is a value per {unit}, keep one row of each {unit}")
    return constants


def _sum_by_unit(
    table: Table,
    unit: str,
    variant: str,
    names: list[str],
    labels: list[str],
    mixed: str,
    constants: set[str],
) -> tuple[pl.DataFrame, list[str]]:
    """Sum the rows of each unit, except columns in `constants`; exclude or refuse mixed units."""
    effect = f"is equal in all rows of each {unit}, so its value is used once, not summed"
    notes = [f"{name} {effect}" for name in sorted(constants)]
    labels = [name for name in labels if name not in {unit, variant}]
    # A value that is missing in one row is missing in the sum.
    values = [pl.col(name).first() if name in constants else pl.col(name).sum() for name in names]
    is_known = [pl.col(name).is_not_null().all() for name in names]
    sums = [pl.when(k).then(value) for k, value in zip(is_known, values, strict=True)]
    units = table.frame.group_by(unit, maintain_order=True).agg(
        pl.col(variant).drop_nulls().first(),
        pl.col(variant).drop_nulls().n_unique().alias("(variants)"),
        *sums,
        pl.col(labels).drop_nulls().first(),
        (pl.col(labels).drop_nulls().n_unique() > 1).name.prefix("(several) "),
    )
    if units.height < table.frame.height:
        subject, size = inflect(table.frame.height, "row"), inflect(units.height, "unit")
        notes.append(f"{subject} summed by {unit}: {size}; for a mean over rows, use a ratio")
        ids = table.frame[unit].cast(pl.String)
        placeholders = ids.filter(ids.str.to_lowercase().is_in([*NO_USER]))
        for name, n_rows in placeholders.value_counts(sort=True).rows():
            note = f"{inflect(n_rows, 'row')} of {unit} {quote(name)} count as one unit"
            remedy = "remove these rows if the name stands for unknown units"
            notes.append(f"{note}: {remedy}")
    row = "earliest" if TIME in labels else "first"
    for name in labels:
        if name != TIME and (n_several := int(units[f"(several) {name}"].sum())):
            note = f"{inflect(n_several, 'unit')} with several values of {name}"
            notes.append(f"{note}: the value of the {row} row is used")
    mixed_units = units.filter(pl.col("(variants)") > 1)[unit]
    notes += _note_mixed_units(mixed_units, units.height, unit, mixed, table.source)
    return units.filter(pl.col("(variants)") < 2), notes


def _note_mixed_units(
    mixed_units: pl.Series, n_units: int, unit: str, mixed: str, source: str
) -> list[str]:
    """Return a note on excluded units in several variants; refuse a majority of such units."""
    if mixed_units.is_empty():
        return []
    subject = inflect(len(mixed_units), "unit")
    problem = f"in more than one variant, such as {quote(mixed_units[0])}"
    if mixed == "error":
        raise InputError(f"{subject} {problem}; mixed='drop' excludes such units", source=source)
    if len(mixed_units) > n_units / 2:
        size = f"{len(mixed_units):,} of {inflect(n_units, 'unit')}"
        reason = f"unit must be the unit of randomisation, got {unit!r}: {size} {problem}"
        raise InputError(reason, source=source)
    return [f"{subject} excluded: in more than one variant"]


def order_variants(
    labels: pl.Series, control: str | None, variants: Sequence[str] | None, source: str
) -> tuple[str, ...]:
    """Return the variants, the control first; by default the one with a usual name of controls."""
    data_variants = labels.unique().drop_nulls().sort().to_list()
    names = list(variants) if variants is not None else data_variants
    if unlisted_names := [name for name in data_variants if name not in names]:
        reason = f"weights must name every variant; missing: {quote(unlisted_names[0])}"
        raise CranfieldError(f"{source}: {reason}")
    if not names:
        raise CranfieldError(f"{source}: no unit has a variant")
    variant_list = list_some(names, 9)
    if control is None:
        # A wrong guess would reverse the result.
        candidates = [name for name in names if name.casefold() in CONTROLS]
        candidates = [name for name in candidates if name.casefold() == CONTROLS[0]] or candidates
        if len(names) > 1 and len(candidates) != 1:
            remedy = "set which of them is the control: control='...'"
            raise PolicyError(f"the variants are {variant_list}; {remedy}")
        control = candidates[0] if candidates else names[0]
    if control not in names:
        raise PolicyError(f"unknown variant {quote(control)}; expected one of: {variant_list}")
    spellings = [name.casefold() for name in names]
    similar_names = [name for name in names if spellings.count(name.casefold()) > 1]
    if similar_names and variants is None:
        pair = " and ".join(map(quote, similar_names[:2]))
        warn(f"{source}: {pair} differ only in case, and count as two variants")
    return (control, *(name for name in names if name != control))


def _encode_labels(labels: pl.Series, names: Sequence[str]) -> Indices:
    """Return the index of each label among names; -1 for nulls."""
    codes = {name: k for k, name in enumerate(names)}
    indices = labels.replace_strict(codes, default=-1, return_dtype=pl.Int64)
    return indices.fill_null(-1).to_numpy().astype(np.intp)


def _encode_levels(labels: pl.Series) -> tuple[tuple[str, ...], Indices]:
    if labels.dtype.is_float():  # A metric
        labels = labels.cast(pl.String).str.strip_suffix(".0")
    levels = labels.unique().drop_nulls().sort().to_list()
    return tuple(levels), _encode_labels(labels, levels)


def _collect_columns(
    frame: pl.DataFrame, metrics: Mapping[str, Metric]
) -> tuple[Floats, dict[str, MetricColumns]]:
    """Return the distinct columns of all metrics, and the column indices of each metric."""
    columns: dict[tuple[str, ...], Floats] = {(): np.ones(frame.height)}

    def add_columns(numerator: str, denominator: str) -> tuple[int, int]:
        keys: list[tuple[str, ...]]
        values = [frame[name].to_numpy() for name in (numerator, denominator) if name]
        is_known: Bools = ~np.isnan(np.sum(values, axis=0))
        if is_known.all():
            for name, column in zip((numerator, denominator), values, strict=False):
                columns.setdefault((name,), column)
            keys = [(numerator,), (denominator,) if denominator else ()]
        else:  # The mean is the sum of the known values divided by their count.
            keys = [(numerator, denominator, name) for name in ("numerator", "denominator")]
            columns[keys[0]] = np.where(is_known, values[0], 0.0)
            columns[keys[1]] = np.where(is_known, values[1] if denominator else 1.0, 0.0)
        order = list(columns)
        return order.index(keys[0]), order.index(keys[1])

    metric_columns = {}
    for name, metric in metrics.items():
        names = metric.list_columns()
        covariate = add_columns(*names[2:]) if names[2] else (-1, ONES_COLUMN)
        metric_columns[name] = MetricColumns(*add_columns(*names[:2]), *covariate)
    return np.column_stack(list(columns.values())), metric_columns


def parse_metric_measures(metrics: Mapping[str, Metric]) -> dict[str, OnlineMeasure]:
    """Parse the online measures that are the metrics of a log."""
    return {name: parse_online_measure(str(metric.value)) for name, metric in metrics.items()}


def set_directions(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Set unset directions of metrics to those of their measures, or else to `higher`."""
    measures = parse_metric_measures(metrics).items()
    directions = {name: m.better or "higher" for name, m in measures}
    return {name: replace(m, better=m.better or directions[name]) for name, m in metrics.items()}


def read_log_units(
    data: QueryLog | UnitSums,
    metrics: Mapping[str, Metric],
    *,
    unit: str,
    before: Any = None,
    mixed: str = "drop",
    control: str | None = None,
    variants: Sequence[str] | None = None,
    is_ordered: bool = False,
) -> Units:
    """Sum measures by unit; measures of the log `before` the experiment become covariates.

    Units are in order of their first page if `is_ordered`.
    """
    for name, metric in metrics.items():
        if metric.covariate is not None:
            remedy = "for a log, set before=... to an earlier log (in Python)"
            raise PolicyError(f"{name}: a covariate requires a table of units; {remedy}")
    measures = parse_metric_measures(metrics)
    measure_names = {name: str(measure) for name, measure in measures.items()}
    source, notes = "sums by unit", list[str]()
    if is_ordered and not isinstance(data, QueryLog):
        raise PolicyError("looks requires a log or a table of units, got sums by unit")
    first_times: pl.DataFrame | None = None
    if isinstance(data, QueryLog):
        check_choice("unit", unit, ("user", "session", "query"))
        source = data.source
        data, notes = _select_assigned_pages(data, unit, mixed)
        _check_periods(data, before)
        if is_ordered:
            data.require("pages", "time", purpose="an analysis at several looks")
            first_times = data.pages.group_by(unit).agg(pl.col("time").min())
        data = sums_by_unit(data, measure_names.values(), unit=unit)
    if missing_measures := [text for text in measure_names.values() if text not in data.names]:
        names = ", ".join(data.names)
        problem = f"unknown measure {quote(missing_measures[0])} in the sums by unit"
        raise PolicyError(f"{problem}; expected one of: {names}")
    if before is not None and not isinstance(before, UnitSums):
        before = sums_by_unit(before, measure_names.values(), unit=unit)
    sum_options: dict[str, Any] = {"control": control, "variants": variants}
    censored_metrics = [name for name, measure in measures.items() if measure.may_be_censored]
    if censored_metrics:
        effect = "means are biased if variants differ in censoring"
        notes.append(f"{', '.join(censored_metrics)}: censored values are excluded, so {effect}")
    sum_options |= {"before": before, "source": source, "notes": notes}
    units = convert_sums_to_units(data, measure_names, **sum_options)
    return units if first_times is None else _sort_by_time(units, first_times)


def _sort_by_time(units: Units, first_times: pl.DataFrame) -> Units:
    rows = pl.DataFrame({units.kind: units.ids})
    times = rows.join(first_times, on=units.kind, how="left", maintain_order="left")["time"]
    if times.null_count():
        reason = "an analysis at several looks requires the time of each unit"
        raise InputError(reason, source=units.source)
    order = np.argsort(times.to_numpy(), kind="stable")
    ids = None if units.ids is None else units.ids.gather(order)
    codes, columns = units.variant_codes[order], units.columns[order]
    sorted_columns: Any = {"variant_codes": codes, "columns": columns, "times": times.gather(order)}
    return replace(units, ids=ids, **sorted_columns)


def _check_periods(log: QueryLog, before: Any) -> None:
    """Refuse a log `before` the experiment that ends after the experiment starts."""
    if isinstance(before, QueryLog) and "time" in log.pages.columns and "time" in before.pages:
        end: Any = before.pages["time"].max()
        start: Any = log.pages["time"].min()
        if end is not None and start is not None and end >= start:
            expected = f"before must end before the experiment starts at {start:%Y-%m-%dT%H:%M:%S}"
            raise InputError(f"{expected}, got {end:%Y-%m-%dT%H:%M:%S}", source=log.source)


def _select_assigned_pages(log: QueryLog, unit: str, mixed: str) -> tuple[QueryLog, list[str]]:
    """Return the pages of units in one variant, and notes on excluded pages and units."""
    log.require("pages", unit, "variant", purpose="an experiment")
    notes = [format_count(count, kind) for kind, count in log.anomalies.items() if count]
    pages = log.pages.filter(pl.col("variant").is_not_null())
    if n_excluded := log.pages.height - pages.height:
        notes.append(f"{inflect(n_excluded, 'page')} excluded: no variant")
    groups = pages.drop_nulls(unit).group_by(unit, maintain_order=True)
    n_variants = groups.agg(pl.col("variant").n_unique())
    mixed_units = n_variants.filter(pl.col("variant") > 1)[unit]
    notes += _note_mixed_units(mixed_units, n_variants.height, unit, mixed, log.source)
    if unit != "user" and "user" in pages.columns:
        notes += note_repeated_users(pages.select(unit, "user", "variant"), unit)
    is_mixed = pl.col(unit).is_in(mixed_units.implode()).fill_null(False)
    return log.select_pages(pl.col("variant").is_not_null() & ~is_mixed), notes


def convert_sums_to_units(
    sums: UnitSums,
    measures: Mapping[str, str],
    *,
    before: UnitSums | None = None,
    control: str | None = None,
    variants: Sequence[str] | None = None,
    source: str = "log",
    notes: Sequence[str] = (),
) -> Units:
    """Convert sums by unit to units; `measures` names the measure of each metric."""
    has_variant = sums.variant >= 0
    all_notes = list(notes)
    for table, period in ((sums, ""), (before, " before the experiment")):
        if table is not None and table.n_unassigned:
            subject = inflect(table.n_unassigned, "page")
            proportion = table.n_unassigned / table.n_pages
            all_notes.append(f"{subject}{period} ({proportion:.1%}) excluded: no {table.kind}")
    if n_excluded := int((~has_variant).sum()):
        all_notes.append(f"{inflect(n_excluded, sums.kind)} excluded: no unique variant")
    labels = pl.Series([sums.variants[k] for k in sums.variant[has_variant]], dtype=pl.String)
    ids = pl.Series(sums.units, dtype=pl.String).filter(pl.Series(has_variant))
    ordered_variants = order_variants(labels, control, variants, source)
    before_codes = None if before is None else _encode_labels(ids, before.units)
    if before_codes is not None and (before_codes < 0).all():
        reason = f"the log before the experiment has no {sums.kind} of the experiment"
        raise InputError(reason, source=source)
    if before_codes is not None and (n_new := int((before_codes < 0).sum())):
        subject = f"{inflect(n_new, sums.kind)} without pages before the experiment"
        all_notes.append(f"{subject} are not adjusted for the covariate")
    columns = [np.ones(len(ids))]

    def add_columns(totals: Floats, counts: Floats) -> tuple[int, int]:
        columns.append(totals)
        if (counts == 1).all():
            return len(columns) - 1, ONES_COLUMN
        columns.append(counts)
        return len(columns) - 2, len(columns) - 1

    metric_columns = {}
    for name, measure in measures.items():
        k = sums.names.index(measure)
        totals, counts = sums.totals[has_variant, k], sums.counts[has_variant, k]
        indices = add_columns(totals, counts)
        covariate = (-1, ONES_COLUMN)
        if before is not None and before_codes is not None:
            j = before.names.index(measure)
            sums_before = before.totals[before_codes, j], before.counts[before_codes, j]
            known_sums = (np.where(before_codes >= 0, values, 0.0) for values in sums_before)
            covariate = add_columns(*known_sums)
        metric_columns[name] = MetricColumns(*indices, *covariate)
    values = np.column_stack(columns)
    identity = source, sums.kind, ids, ordered_variants, _encode_labels(labels, ordered_variants)
    return Units(*identity, values, metric_columns, notes=tuple(all_notes))
