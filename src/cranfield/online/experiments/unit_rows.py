"""Check whether the rows of a table are the units of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import log

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.sources.columns import Columns, make_row_error
from cranfield.sources.schemas import USUAL_NAMES, Schema, fold_name
from cranfield.sources.summaries import TOTALS, ends_in_summary
from cranfield.sources.values import BLANKS, Cells, is_absent

Names = Sequence[str]

CONTROLS = ("control", "baseline", "old", "a", "0")  # Usual names of the control, in lower case

TIME_NAMES = frozenset({"date", "day", "week", "month", "quarter", "year", "hour", "period"})
"""Names of columns of times, which label rows even if their values are numbers."""


class UnitTable:
    """Columns of a table of units, as text before conversion, and positions of columns by role."""

    def __init__(self, columns: Columns, schema: Schema, variant: str | None) -> None:
        self.columns, self.schema, self.source = columns, schema, columns.source
        self.names = [*map(str, columns.names)]
        self.spellings = [*map(fold_name, columns.names)]
        self.positions = schema.find_positions(columns.names, columns.source)
        self.variant = None if variant is None else self.positions[variant]
        self.unused_positions = sorted({*range(len(self.names))} - {*self.positions.values()})
        self.texts = cache(lambda column: _convert_to_text(columns.get_column(column)))

    def is_number(self, column: int) -> bool:
        """Return whether all values of a column are numbers or missing."""
        texts = self.texts(column)
        return texts.cast(pl.Float64, strict=False).null_count() == texts.null_count()

    def count_ids(self, column: int) -> tuple[int, int]:
        """Return the numbers of ids and of rows with an id; refuse lists and records."""
        cells = self.columns.cells(column)
        values = () if isinstance(cells, pl.Series) else cells
        if nested_values := [value for value in values if isinstance(value, (list, dict))]:
            reason = f"expected text or a number in {quote(self.names[column])}"
            raise InputError(f"{reason}, got {quote(nested_values[0])}", source=self.source)
        ids = self.texts(column).replace("", None).drop_nulls()
        return ids.n_unique(), len(ids)

    def count_clusters(self, *keys: int) -> int:
        """Count the values of `keys` if many repeat, but only within one variant; otherwise 0."""
        values = self.count_variants(*keys)
        n_repeats = values["rows"].sum() - values.height
        n_variants = self.texts(self.variant).drop_nulls().n_unique()
        has_clusters = n_repeats >= MIN_REPEATS * len(keys) and values["variants"].max() == 1
        return values.height if has_clusters and values.height > 2 * n_variants else 0

    def count_variants(self, *keys: int, step: int = 1) -> pl.DataFrame:
        """Count the variants and rows of each value of `keys`, over every `step`-th row."""
        columns = {str(column): self.texts(column) for column in keys}
        rows = pl.DataFrame({**columns, "variants": self.texts(self.variant)})
        rows = rows.gather_every(step).drop_nulls()
        return rows.group_by([*columns]).agg(pl.col("variants").n_unique(), pl.len().alias("rows"))

    def check_last_row(self, ids: Sequence[int], metrics: pl.DataFrame) -> None:
        """Refuse a last row that summarises the rows above, by its id and its metrics."""
        for column in ids:
            if ends_in_summary(self.texts(column), lambda: metrics):
                raise self.make_totals_error(self.texts(column)[-1])

    def make_totals_error(self, name: str) -> InputError:
        reason = f"{quote(name)} seems to be a row of totals; remove it"
        last_row = len(self.columns.cells(0)) - 1
        return make_row_error(last_row, reason, self.source, self.columns.lines)

    @staticmethod
    def has_distinct_labels(ids: pl.Series, labels: pl.Series, min_repeats: int) -> bool:
        """Return True if no id has a label twice, where random labels would repeat.

        The probability that random labels do not repeat is then at most 2^-min_repeats.
        """
        sizes = ids.value_counts()["count"]
        n_pairs = (sizes * (sizes - 1)).sum() / 2
        is_unlikely = n_pairs >= labels.n_unique() * min_repeats * log(2)
        return is_unlikely and not pl.DataFrame([ids.alias("id"), labels]).is_duplicated().any()


def _convert_to_text(cells: Cells) -> pl.Series:
    """Convert cells to text, without leading and trailing blanks, which are not part of an id."""
    if isinstance(cells, pl.Series) and not cells.dtype.is_nested():
        texts = cells.cast(pl.String, strict=False)
    else:
        values = [None if is_absent(cell) else str(cell) for cell in cells]
        texts = pl.Series(values, dtype=pl.String)
    return texts.str.strip_chars(BLANKS)


# Minimum number of repeats; random repeats agree in two equal variants with probability 2^-10
MIN_REPEATS = 10
MAX_MIXED_USERS = 0.05  # Maximum proportion of users in several variants if users were randomised


class TotalsError(PolicyError):
    """Raised for rows that seem to be totals of many units."""


def check_rows(table: UnitTable, metrics: Names, denominators: Names) -> None:
    """Refuse rows that are parts of a unit, or totals of many units."""
    for column in table.unused_positions:
        last_texts = table.texts(column).tail(1).to_list()
        if last_texts and fold_name(last_texts[0]) in TOTALS and table.texts(column).n_unique() > 1:
            raise table.make_totals_error(last_texts[0])
    kinds_of_totals = ("user", "session", "units", "count", "weight", "assignment weight")
    schema = replace(table.schema, decisive_kinds=kinds_of_totals)
    divisors = {table.positions[name] for name in denominators}
    *_, kinds = schema.find_unused(table.names, {*table.positions.values()} - divisors)
    # Schemas of logs read `impression` as the id of a page; in a table of units it is a count.
    kinds |= {k: "count" for k in table.unused_positions if table.spellings[k] == "impression"}
    user_columns = [k for k, kind in kinds.items() if kind == "user"]
    session_columns = [k for k, kind in kinds.items() if kind == "session"]
    id_counts = {column: table.count_ids(column) for column in user_columns + session_columns}
    for column, (n_ids, n_rows) in id_counts.items():
        if 0 < n_ids < n_rows:
            raise _make_cluster_error(table, column, n_rows, n_ids)
    height = len(table.columns.cells(0))
    # If the ids of users are all different, rows are users.
    has_user_rows = any(id_counts[column][0] == height for column in user_columns)
    for column in table.unused_positions if table.variant is not None else ():
        n_values = table.count_clusters(column)
        if n_values and not has_user_rows:
            raise _make_cluster_error(table, column, height, n_values)
        if n_values:
            name = table.names[column]
            note = f"column {quote(name)} is not used, but each of its values is in one variant"
            remedy = f"if it is the unit of randomisation, set unit={name!r}"
            warn(f"{table.source}: {note}; {remedy}")
    if has_user_rows:
        return
    _check_cluster_pairs(table)
    for column in user_columns:
        if 0 < (n_rows := id_counts[column][1]) < height:
            problem = f"{quote(table.names[column])} is empty in {inflect(height - n_rows, 'row')}"
            remedy = "remove these rows, or set unit='row' if each row is a unit of its own"
            raise PolicyError(f"{table.source}: {problem}: {remedy}")
    # The denominator of a metric may be a number of impressions, but not of users.
    kinds = {k: kind for k, kind in kinds.items() if kind == "units" or k not in divisors}
    remedy = "pass the rows of the units, or set unit='row' if each row was randomised as a whole"
    for evidence in _find_totals(table, kinds, metrics):
        problem = f"got {evidence}, so rows seem to be totals of many units"
        raise TotalsError(f"{table.source}: expected one row per unit, {problem}: {remedy}")


_MAX_LABELS = 8  # Maximum number of columns whose pairs are checked


def _check_cluster_pairs(table: UnitTable) -> None:
    """Refuse rows if each pair of values of two columns, such as city and day, has one variant."""
    if table.variant is None:
        return
    labels = []
    for column in table.unused_positions:
        if table.spellings[column] in TIME_NAMES or not table.is_number(column):
            values = table.count_variants(column)
            # A column that determines the variant does so in every pair.
            if values.height > 1 and (values["rows"] > 1).any() and (values["variants"] > 1).any():
                labels.append(column)
    n_rows = len(table.texts(table.variant))
    step = n_rows // 5000 + 1
    for pair in combinations(labels[:_MAX_LABELS], 2):
        # Pairs in several variants are usually found in a few rows.
        has_several_variants = (table.count_variants(*pair, step=step)["variants"] > 1).any()
        if n_values := 0 if has_several_variants else table.count_clusters(*pair):
            names = " and ".join(quote(table.names[column]) for column in pair)
            sizes = f"{n_rows:,} rows of {n_values:,} pairs of {names}"
            reason = "each pair is in one variant only, as in a switchback experiment"
            remedy = "set the unit to a new column with a name for each pair, or set unit='row' if"
            remedy += " rows were randomised"
            problem = f"expected one row per unit, got {sizes}"
            raise PolicyError(f"{table.source}: {problem}; {reason}: {remedy}")


def _make_cluster_error(table: UnitTable, column: int, n_rows: int, n_values: int) -> PolicyError:
    name = table.names[column]
    sizes = f"{n_rows:,} rows of {n_values:,} values of {quote(name)}"
    problem = f"expected one row per unit, got {sizes}; rows with equal values are not independent"
    remedy = f"set the unit, such as unit={name!r}, or unit='row' if rows were randomised"
    if table.variant is not None and (table.count_variants(column)["variants"] > 1).all():
        reason = f"each value is in more than one variant, so {quote(name)} was not randomised"
        remedy = f"{reason}; set unit='row' if rows were randomised"
    return PolicyError(f"{table.source}: {problem}: {remedy}")


def _find_totals(table: UnitTable, kinds: Mapping[int, str], metrics: Names) -> Iterator[str]:
    """Yield descriptions of columns and rows that suggest totals of many units."""
    for column, kind in kinds.items():
        numbers = table.texts(column).cast(pl.Float64, strict=False).drop_nulls()
        is_equal_weight = kind.endswith("weight") and numbers.n_unique() < 2
        is_constant = is_equal_weight or kind in {"user", "session"}
        if not (is_constant or numbers.is_in([0.0, 1.0]).all()):
            yield f"a column {quote(table.names[column])}"
    if table.variant is None:
        return
    used_positions = {table.variant, *(table.positions[name] for name in metrics)}
    labels = {}
    for column, name in enumerate(table.names):
        is_label = table.spellings[column] in TIME_NAMES or not table.is_number(column)
        if is_label and column not in used_positions:
            labels[name] = table.texts(column)
    rows = pl.DataFrame({"(variant)": table.texts(table.variant), **labels}).drop_nulls("(variant)")
    n_variants = rows["(variant)"].n_unique()
    if 1 < n_variants == len(rows):
        yield "one row per variant"
    for names in [*([name] for name in labels), *([[*labels]] if len(labels) > 1 else [])]:
        if n_variants > 1 and not rows.select("(variant)", *names).is_duplicated().any():
            sizes = rows.group_by(names).len()["len"]
            if 2 * sizes.filter(sizes == n_variants).sum() > len(rows):
                yield f"one row per variant and {' and '.join(map(quote, names))}"


def hint_at_names(missing_names: Names, names: Names, variant: str | None) -> str:
    """Return a hint for a missing column: the likely variant, or a name that is read as a ratio."""
    if missing_names == [variant]:
        if controls := [quote(name) for name in names if fold_name(name) == CONTROLS[0]]:
            return f"; variants must be the values of one column, got a column {controls[0]}"
        usual_names = _VARIANT_NAMES | {*map(fold_name, USUAL_NAMES["variant"][1].split())}
        if candidates := [quote(name) for name in names if fold_name(name) in usual_names]:
            return f"; if the variants are in {candidates[0]}, set variant={candidates[0]}"
        return "; use variant=... to read another column"
    spellings = {*map(fold_name, missing_names)}
    for name in names:
        if "/" in name and {*map(fold_name, name.split("/"))} & spellings:
            return f"; a name such as {quote(name)} is read as a ratio: rename the column"
    return ""


_VARIANT_NAMES = {
    *map(fold_name, (*USUAL_NAMES["variant"][0].split(), "is_control", "is_treatment"))
}


def check_second_variants(table: UnitTable) -> None:
    """Refuse a second column of variants that contradicts the first."""
    if (variant := table.variant) is None:
        return
    for column in (k for k, name in enumerate(table.spellings) if name in _VARIANT_NAMES):
        pairs = pl.DataFrame({"variant": table.texts(variant), "other": table.texts(column)})
        if pairs["other"].n_unique() <= pairs["variant"].n_unique() < pairs.n_unique():
            pair = f"{quote(table.names[variant])} and {quote(table.names[column])}"
            reason = f"has two columns of variants that contradict each other: {pair}"
            raise InputError(f"{reason}; remove one", source=table.source)


def warn_of_long_table(table: UnitTable, unit: str) -> None:
    """Warn of a column whose values, such as names of metrics, occur at most once per unit."""
    ids = table.texts(table.positions[unit])
    for column in table.unused_positions:
        labels = table.texts(column)
        n_levels = labels.n_unique()
        is_complete = ids.n_unique() * n_levels == len(ids)
        has_time_name = table.spellings[column] in TIME_NAMES - {"period"}
        if has_time_name or n_levels < 2 or labels.null_count():
            continue
        # Numbers, and texts with digits such as dates, may be times of rows, which may be summed.
        is_time = n_levels > 2 and (table.is_number(column) or labels.str.contains("[0-9]").all())
        min_repeats = 0 if is_complete else MIN_REPEATS
        if not is_time and table.has_distinct_labels(ids, labels, min_repeats):
            values = list_some(map(quote, labels.unique(maintain_order=True)), 3)
            size = "one row" if is_complete else "at most one row"
            name = quote(table.names[column])
            note = f"each {unit} has {size} for each value of {name} ({values})"
            remedy = "if the values are metrics or periods, keep the rows of one value"
            warn(f"{table.source}: {note}, and these rows are summed; {remedy}")


def warn_of_repeated_rows(table: UnitTable, unit: str) -> None:
    """Warn of rows equal in all columns, if they seem to be copies rather than separate events."""
    rows = pl.DataFrame({str(k): table.texts(k) for k in range(len(table.names))})
    distinct_rows = rows.unique()
    n_copies, id_name = len(rows) - len(distinct_rows), str(table.positions[unit])
    has_times = not _EXACT_TIMES.isdisjoint(table.spellings)
    is_table_of_units = distinct_rows[id_name].is_unique().all()
    if n_copies and (has_times or (is_table_of_units and 2 * n_copies < len(distinct_rows))):
        note = f"{inflect(n_copies, 'row')} summed with another row that is equal in all columns"
        warn(f"{table.source}: {note}; remove copies from the table")


_EXACT_TIMES = {*map(fold_name, " ".join(USUAL_NAMES["time"]).split())}


def note_users_of_rows(table: UnitTable, unit: str | None) -> Iterator[str]:
    """Note users with several units in one variant, in a table whose unit was set."""
    schema = replace(table.schema, decisive_kinds=("user",))
    for column in schema.find_unused(table.names, table.positions.values())[2]:
        users, variants = table.texts(column), table.texts(table.variant)
        units = table.texts(table.positions[unit]) if unit else pl.Series(range(len(users)))
        rows = pl.DataFrame({"(unit)": units, table.names[column]: users, "(variant)": variants})
        yield from note_repeated_users(rows, unit or "row")


def note_repeated_users(rows: pl.DataFrame, unit: str) -> Iterator[str]:
    """Note users with several units in one variant, as if users had been randomised.

    The columns of `rows` are the unit, the user and the variant.
    """
    user = rows.columns[1]
    users = rows.drop_nulls().group_by(user).n_unique()
    repeated_users = users.filter(pl.nth(1) > 1)
    n_repeats = repeated_users.to_series(1).sum() - repeated_users.height
    n_unmixed = repeated_users.filter(pl.nth(2) == 1).height
    if n_repeats >= MIN_REPEATS and n_unmixed > (1 - MAX_MIXED_USERS) * repeated_users.height:
        yield (
            f"{n_unmixed:,} of {inflect(users.height, 'user')} have more than one {unit}, in"
            f" the same variant; if users were randomised, set unit={user!r}: tests by {unit}"
            " reject too often"
        )


def note_unused_labels(table: UnitTable, unit: str | None) -> list[str]:
    """Return a note on unused columns of labels; columns of numbers may be other metrics."""
    ids = None if unit is None else table.texts(table.positions[unit])
    schema = replace(table.schema, is_selected=False)
    unused, *_ = schema.find_unused(table.names, table.positions.values())
    labels = []
    for column in (k for k in unused if table.spellings[k] not in TIME_NAMES - {"period"}):
        texts = table.texts(column)
        n_values = texts.n_unique()
        is_label = not table.is_number(column)
        if not is_label and ids is not None:
            is_label = table.has_distinct_labels(ids, texts, MIN_REPEATS)
        if n_values == 2 or (2 < n_values < len(texts) and is_label):
            labels.append(quote(table.names[column]))
    return [f"columns not used: {list_some(labels, 12)}"] if labels else []
