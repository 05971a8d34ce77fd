"""Read scores from text lines, data frames, and wide or long tables."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn

import polars as pl

from cranfield.base.errors import InputError, quote, warn
from cranfield.base.text import inflect, join_with_and, list_some
from cranfield.collection.files.named_columns import describe_structure
from cranfield.evaluation.scorefiles.cells import (
    CUTOFF,
    MAX_NAMES,
    OVERALL_TOPIC,
    SCORES,
    ScorePart,
    ScoreSource,
    are_measures,
    convert_labels,
    find_roles,
    is_missing,
    make_part,
    make_score_frame,
    read_numbers,
    resembles_measure,
)
from cranfield.measures.grammar import find_measure
from cranfield.scores.one_measure import AXES
from cranfield.sources.columns import (
    Columns,
    convert_parquet_errors,
    read_frame_columns,
    read_parquet_frame,
)
from cranfield.sources.schemas import INDEX_NAME, fold_name
from cranfield.sources.summaries import may_be_summary
from cranfield.sources.values import (
    NO_SCORE,
    Cells,
    is_number,
    mask_absent,
    parse_number,
    replace_decimal_commas,
)

RUNID = "runid"  # first field of the line of trec_eval's output that contains the run tag
_NOT_MEASURES = {RUNID, "num_q", "NumQ"}
"""First fields of lines with the run tag and with the number of topics."""


_NTCIREVAL = r"^\s*(\S+) +(\S+)= +(\S+)\s*$"
_NTCIREVAL_COMMENT = r"^\S+ # ?\w+="
"""Patterns of lines of NTCIREVAL: topic, measure and value; and counts of documents."""


def split_cells(lines: Sequence[str] | pl.Series) -> pl.Series:
    """Split lines into 3 or 4 cells at tabs, or else into cells at any whitespace."""
    line = pl.col("line").str.replace(_NTCIREVAL, "$1\t$2\t$3")
    tab_cells = line.str.split("\t").list.eval(pl.element().str.strip_chars())
    blank_cells = line.str.strip_chars().str.replace_all(r"\s+", " ").str.split(" ")
    cells = pl.when(tab_cells.list.len().is_in([3, 4])).then(tab_cells).otherwise(blank_cells)
    return pl.DataFrame({"line": lines}).select(cells).to_series()


def is_score_line(first_line: str) -> bool:
    """Return True if the first line of a text has a score, rather than the names of columns."""
    if re.match(_NTCIREVAL_COMMENT, first_line):
        return True
    cells = split_cells([first_line])[0].to_list()
    if not 2 <= len(cells) <= 4 or not cells[0] or SCORES.find_column(cells[0]) == "topic":
        return False
    if cells[0] == RUNID or "\t" not in first_line:
        return True
    is_score = parse_number(cells[-1]) is not None or is_missing(cells[-1])
    return is_score or find_measure(cells[0]) is not None


def read_lines(text: str, source: ScoreSource) -> ScorePart:
    """Read lines of measure and topic, in either order, and value, of one or several systems."""
    # Lines of four cells begin with the system. The system of other lines is the value of the line
    # `runid`, or the stem of the file.
    frame = pl.DataFrame({"text": re.split(r"\r\n|\r|\n", text)}).with_row_index("line", 1)
    is_comment = pl.col("text").str.contains(_NTCIREVAL_COMMENT)
    frame = frame.filter(pl.col("text").str.strip_chars() != "", ~is_comment)
    if frame.is_empty():
        raise InputError("expected scores, got no line with text")
    lines, rows = frame["line"], split_cells(frame["text"])
    widths = rows.list.len()
    width = 4 if widths[0] == 4 else 3
    for row in (widths != width).arg_true()[:1]:
        names = "system, topic, measure" if width == 4 else "measure, topic"
        hint = "" if width == 4 else ", as trec_eval -q or ir_measures --by_query print them"
        advice = "; to write a table in R, use write.csv" * ('"' in frame["text"][0])
        raise InputError(
            f"expected {width} columns ({names} and value{hint}), got {widths[row]}{advice}",
            line=lines[row],
        )
    *columns, cells = (rows.list.get(k) for k in range(width))
    if width == 4:
        systems, topics, measures = columns
        is_scored = topics != OVERALL_TOPIC
    else:
        measures, topics = _order_measures_first(columns, source.requested)
        systems, is_scored = _assign_systems(measures, topics, cells, source.stem)
    if not source.requested:
        _warn_of_overall_values(measures, is_scored, source.name)
    labels = {"measure": measures, "topic": topics, "system": systems}
    frame = make_score_frame(labels, cells, lines)
    _warn_of_contradiction(frame, is_scored, cells, source.name)
    frame = frame.filter(is_scored)
    return make_part(
        frame.with_columns(
            convert_labels(frame[name], name, frame["line"]).alias(name) for name in labels
        )
    )


def _warn_of_overall_values(measures: pl.Series, is_scored: pl.Series, source: str) -> None:
    """Warn of measures that have a value over all topics, but no scores by topic."""
    scored_measures = {*measures.filter(is_scored).unique()}
    other_names = scored_measures | _NOT_MEASURES
    names = [name for name in measures.unique(maintain_order=True) if name not in other_names]
    if scored_measures and names:
        listing = list_some(names, 5)
        warn(f"{source}: measures without scores by topic skipped: {listing}")


def _warn_of_contradiction(
    frame: pl.DataFrame, is_scored: pl.Series, cells: pl.Series, source: str
) -> None:
    """Warn if a value over all topics is not the mean of the topics, or is of other topics."""
    key = ["system", "measure"]
    frame = frame.with_columns(decimals=cells.str.extract(r"\.(\d+)$").str.len_bytes())
    topic_counts = frame.filter(is_scored).group_by("system").agg(n=pl.col("topic").n_unique())
    means = frame.filter(is_scored).group_by(key).agg(pl.mean("score"), pl.max("decimals"))
    # The line of a run tag precedes the values over all topics of the run.
    tags = pl.when(pl.col("measure") == RUNID).then(cells).forward_fill()
    totals = frame.with_columns(system=pl.coalesce(tags, "system"))
    totals = totals.filter(pl.col("topic") == OVERALL_TOPIC, pl.col("score").is_not_null())
    stated_counts = totals.filter(pl.col("measure").is_in(["num_q", "NumQ"]))
    # Values of `num_ret` and `GMAP` are not means.
    pairs = (
        totals.join(means, key, suffix="_mean")
        .join(topic_counts, "system")
        .join(stated_counts.select("system", n_all="score"), "system", how="left")
        .filter(~pl.col("measure").str.contains("(?i)num"))
    )
    # Both values are rounded, to as many decimals unless zeros at the end are not printed.
    rounding = 0.1 ** pl.max_horizontal("decimals", "decimals_mean").fill_null(0)
    is_different = (pl.col("score") - pl.col("score_mean")).abs() > 1.01 * rounding
    pairs = pairs.filter(is_different | (pl.col("n_all") != pl.col("n")))
    measures = map(find_measure, pairs["measure"])
    are_means = [measure is None or measure.info.aggregate == "mean" for measure in measures]
    for row in pairs.filter(pl.Series(are_means, dtype=pl.Boolean))[:1].iter_rows(named=True):
        scope = "" if row["n_all"] is None else f" over {row['n_all']:g} topics"
        warn(
            f"{source}: the value of {row['measure']} over all topics is {row['score']:g}"
            f"{scope}; it is replaced by the mean over the {inflect(row['n'], 'topic')} of the"
            f" file, {row['score_mean']:.4g} (with trec_eval -c, other topics count as 0)"
        )


def _order_measures_first(columns: list[pl.Series], requested: Sequence[str]) -> list[pl.Series]:
    """Return the columns of measures and of topics, whose order depends on the program."""

    def may_be_measure(name: str) -> bool:
        return bool(
            resembles_measure(name) or find_measure(name) is not None or CUTOFF.search(name)
        )

    labels = [column.unique(maintain_order=True).to_list() for column in columns]
    criteria = [
        [OVERALL_TOPIC not in names for names in labels],
        [any(map(may_be_measure, islice(names, MAX_NAMES))) for names in labels],
        [not {*requested}.isdisjoint(names) for names in labels],
        [any(parse_number(name) is None for name in names) for names in labels],
        [len(names) == 1 for names in labels],
    ]
    for first, second in criteria:
        if first != second:
            return columns if first else columns[::-1]
    raise InputError(
        f"expected one column of measures, got one that begins with {quote(labels[0][0])} and one"
        f" that begins with {quote(labels[1][0])}; name the measure to read, as in"
        f" measure={labels[0][0]!r}, or write a header"
    )


def _assign_systems(
    measures: pl.Series, topics: pl.Series, cells: pl.Series, stem: str
) -> tuple[pl.Series, pl.Series]:
    """Return the system of each line, by run tags, and a mask of lines with scores by topic."""
    is_tag = measures == RUNID
    is_scored = topics != OVERALL_TOPIC
    tags = cells.filter(is_tag)
    if len(tags) <= 1:
        return pl.Series([*tags, stem][:1]).new_from_index(0, len(cells)), is_scored
    is_scored &= ~is_tag
    # Number of tags above each line, less one if a tag precedes its block.
    blocks = is_tag.cum_sum().cast(pl.Int64) - int(is_tag[0])
    if is_scored.any() and {*blocks.filter(is_scored).unique()} != {*range(len(tags))}:
        raise InputError(
            f"expected one line {RUNID} with the scores of each run, got {len(tags)} such lines in"
            " other places; pass one file for each run, or a table (cranfield evaluate --by-topic"
            " --format csv)"
        )
    return tags.gather(blocks.clip(upper_bound=len(tags) - 1)), is_scored


@dataclass(frozen=True)
class ScoreTable:
    """Table of scores, with its source."""

    source: ScoreSource
    columns: Columns

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.columns.names]

    def get_cells(self, k: int) -> Cells:
        return self.columns.cells(k)

    def convert_labels(self, k: int, role: str) -> pl.Series:
        cells = self.get_cells(k)
        if role == "measure" and mask_absent(cells, NO_SCORE).all():
            return pl.Series([None] * len(cells), dtype=pl.String)  # of an unnamed measure
        return convert_labels(cells, role, self.columns.lines)

    def get_scores(self, k: int) -> Cells:
        """Return the cells of a column of scores, with decimal points."""
        return self._cells_with_points[k] if self.columns.has_semicolons else self.get_cells(k)

    @cached_property
    def _cells_with_points(self) -> dict[int, Cells]:
        return self.columns.read_numbers({k: k for k in range(len(self.names))})

    def read_numbers(self, k: int) -> tuple[pl.Series, int]:
        """Return the numbers of a column, with a decimal point or comma, and the count of texts."""
        numbers, text_rows = read_numbers(replace_decimal_commas(self.get_cells(k)))
        return numbers.drop_nulls(), len(text_rows)


def read_table(table: ScoreTable) -> ScorePart:
    """Read a long table, or a wide one, whose numeric columns are systems or measures."""
    roles = find_roles(table.names, table.source.name)
    directions = _find_directions(table, roles)
    used_columns = {*roles.values(), *directions}
    score_columns = [k for k in range(len(table.names)) if k not in used_columns]
    if not {"system", "score"} <= roles.keys():
        score_columns = [
            k for k in score_columns if _has_name(table, k, may_be_topics="topic" not in roles)
        ]
    if "system" in roles and "score" not in roles:
        names = [table.names[k] for k in score_columns if not _is_text_column(table, k)]
        is_numeric = not table.read_numbers(roles["system"])[1]
        if is_numeric and not are_measures(names, table.source.requested, "columns"):
            score_columns = sorted([*score_columns, roles.pop("system")])
    k = roles.get("topic", -1)
    if k >= 0 and fold_name(table.names[k]) == "q" and (table.read_numbers(k)[0] % 1 != 0).any():
        # `q` is then the name of a system.
        score_columns = [roles.pop("topic"), *score_columns]
    topics = _find_topics(table, roles, score_columns)
    if "topic" not in roles and topics is not None:
        score_columns = score_columns[1:]
    numeric_names = [name for k in score_columns if is_number(name := table.names[k])]
    has_decimals = any(not name.strip("+-").isdigit() for name in numeric_names)
    if (has_decimals and "topic" not in roles) or (numeric_names and "system" in roles):
        raise InputError(
            "expected names of columns in the first line, got numbers"
            f" ({list_some(numeric_names, 3)}); add a header line, and put topics in rows; if these"
            " are systems, name the first column topic"
        )
    has_topics = topics is not None
    row_units = [table.names[k] for k in score_columns if fold_name(table.names[k]) in _NOT_TOPICS]
    if row_units and not has_topics:
        raise InputError(
            "expected a column of topics, got a row for each"
            f" {join_with_and([*map(quote, row_units)])}; scores by topic are required"
        )
    row_numbers = pl.Series(range(1, len(table.get_cells(0)) + 1)).cast(pl.String)
    topics = row_numbers if topics is None else topics
    if "system" not in roles and "score" in roles:
        has_systems = bool(score_columns) and not _are_descriptions(table, score_columns, topics)
        if "topic" in roles and has_systems:
            raise InputError(
                "expected a column of systems for the scores in"
                f" {quote(table.names[roles['score']])}, got none; rename"
                f" {quote(table.names[score_columns[0]])} to system if it has them, or remove it"
            )
        if "topic" not in roles:
            score_columns = sorted([*score_columns, roles.pop("score")])
    if "score" in roles:
        _check_requested_measures(table, roles, score_columns)
        table.columns.check_unused(SCORES, [*roles.values(), *directions])
    else:
        score_columns = _remove_text_columns(table, score_columns)
    frame = _make_frame(table, roles, score_columns, topics)
    part = make_part(frame, _join_directions(table, directions, roles.get("measure"), frame))
    measures = () if "score" in roles else score_columns
    repeat_advice = _advise_on_repeats(table, frame, roles, {*used_columns, *measures})
    axis = _find_third_axis(table, roles)
    return replace(part, axis=axis, has_topics=has_topics, repeat_advice=repeat_advice)


def _advise_on_repeats(
    table: ScoreTable, frame: pl.DataFrame, roles: Collection[str], used_columns: Collection[int]
) -> str:
    """Return advice on an unused column that distinguishes rows with the same labels, if any."""
    labels = frame.select("measure", "topic", "system", "shard")
    if not ("score" in roles or "system" in roles) or labels.is_unique().all():
        return ""
    for k, name in enumerate(table.names):
        cells = table.get_cells(k)
        n_repeats = labels.height // len(cells)
        other_cells = pl.Series("other", [str(cell) for cell in cells for _ in range(n_repeats)])
        is_candidate = k not in used_columns or fold_name(name) in _NOT_TOPICS
        if is_candidate and labels.with_columns(other_cells).is_unique().all():
            values = list_some(map(quote, other_cells.unique(maintain_order=True)), 3)
            column = f"column {quote(name)} distinguishes them ({values})"
            advice = "keep the rows of one value, or name the column replicate if it numbers runs"
            return f"; {column}; {advice} of the same system"
    return ""


_NOT_TOPICS = frozenset(
    ("epoch", "epochs", "step", "steps", "globalstep", "checkpoint", "fold", "seed", "trial")
)
"""Names of columns that number rows by something other than topics, normalised by `fold_name`."""

_LOWER_IS_BETTER = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_HIGHER_IS_BETTER = {text: not is_lower for text, is_lower in _LOWER_IS_BETTER.items()}
_DIRECTIONS = dict.fromkeys(
    ["lower", "low", "asc", "ascending", "min", "minimize", "minimise"], True
)
_DIRECTIONS |= dict.fromkeys(
    ["higher", "high", "desc", "descending", "max", "maximize", "maximise"], False
)
_DIRECTION_COLUMNS = {
    "lowerisbetter": _LOWER_IS_BETTER,
    **dict.fromkeys(("higherisbetter", "greaterisbetter"), _HIGHER_IS_BETTER),
    **dict.fromkeys(("direction", "better"), _DIRECTIONS),
}
"""Meaning of values, True if lower scores are better, by the name of a column of directions."""


def _find_directions(table: ScoreTable, roles: Mapping[str, int]) -> dict[int, list[bool | None]]:
    """Return the columns that state by row whether lower scores are better."""
    columns = {}
    for k, name in enumerate(table.names):
        meanings = _DIRECTION_COLUMNS.get(fold_name(name))
        if meanings is None or k in roles.values():
            continue
        cells = table.get_cells(k)
        values = [meanings.get(str(cell).strip().casefold().removesuffix(".0")) for cell in cells]
        unknown_rows = [
            row for row, cell in enumerate(cells) if values[row] is None and not is_missing(cell)
        ]
        if not unknown_rows and any(value is not None for value in values):
            columns[k] = values
        elif unknown_rows and meanings is not _DIRECTIONS:
            line = None if table.columns.lines is None else table.columns.lines[unknown_rows[0]]
            value = quote(cells[unknown_rows[0]])
            raise InputError(f"column {quote(name)} must be true or false, got {value}", line=line)
        elif unknown_rows and "score" in roles and len({*map(str, cells)}) == 1:
            # Other unused columns are reported only if they have several values.
            warn(
                f"{table.source.name}: column {quote(name)} is not used, as {quote(cells[0])} is"
                " not a direction of scores, such as lower or higher"
            )
    return columns


def _join_directions(
    table: ScoreTable,
    columns: Mapping[int, Sequence[bool | None]],
    measure_column: int | None,
    frame: pl.DataFrame,
) -> dict[str | None, bool]:
    """Return the stated direction of each measure."""
    if not columns:
        return {}
    all_measures = frame["measure"].unique().to_list()
    measure_of_row = None
    if measure_column is not None:
        measure_of_row = table.convert_labels(measure_column, "measure").to_list()
    directions: dict[str | None, bool] = {}
    for k, values in columns.items():
        for row, is_lower in enumerate(values):
            for measure in all_measures if measure_of_row is None else [measure_of_row[row]]:
                if is_lower is None or directions.setdefault(measure, is_lower) == is_lower:
                    continue
                line = None if table.columns.lines is None else table.columns.lines[row]
                name, scope = quote(table.names[k]), f" of {measure}" if measure else ""
                reason = f"column {name} contradicts the direction{scope} in rows above"
                raise InputError(reason, line=line)
    return directions


def _find_third_axis(table: ScoreTable, roles: Mapping[str, int]) -> str:
    """Return the name of the third axis of scores; `shard` if the table has none."""
    axes = [axis for axis in AXES if axis in roles]
    if len(axes) > 1:
        names = " and ".join(quote(table.names[roles[axis]]) for axis in axes)
        raise InputError(f"expected scores by shard or by replicate, got columns {names}")
    return next(iter(axes), AXES[0])


def _has_name(table: ScoreTable, k: int, *, may_be_topics: bool) -> bool:
    """Return True if a column has a name; an unnamed one must be empty or number the rows."""
    if not INDEX_NAME.fullmatch(fold_name(table.names[k])) or (may_be_topics and k == 0):
        return True
    cells = table.get_cells(k)
    if not mask_absent(cells, NO_SCORE).all() and not _are_distinct_integers(cells):
        raise InputError(f"expected a name of column {k + 1}, got none")
    return False


def _are_distinct_integers(cells: Cells) -> bool:
    numbers = read_numbers(cells)[0]
    return bool(numbers.is_unique().all() and (numbers % 1 == 0).fill_null(False).all())


def _is_text_column(table: ScoreTable, k: int) -> bool:
    """Return True if a column has values and none of them resembles a number."""
    cells = table.get_cells(k)
    numbers, rows = read_numbers(cells)
    is_number_like = numbers.is_not_null().any() or any(
        _NUMBER_LIKE.match(str(cells[row]).strip()) for row in rows
    )
    return len(rows) > 0 and not is_number_like


_NUMBER_LIKE = re.compile(r"[-+−]?[.,]?\d|[-+−]?inf", re.IGNORECASE)
"""Pattern of the beginning of texts that resemble numbers."""


def _check_requested_measures(
    table: ScoreTable, roles: Mapping[str, int], other_columns: Sequence[int]
) -> None:
    """Refuse a requested measure that has a column beside the column of scores."""
    names = {table.names[k] for k in other_columns}
    if "measure" not in roles and (requested := names.intersection(table.source.requested)):
        scores = quote(table.names[roles["score"]])
        raise InputError(
            f"expected one column of scores, got {scores} and {quote(requested.pop())}"
        )


def _remove_text_columns(table: ScoreTable, score_columns: list[int]) -> list[int]:
    """Remove columns of text and of ids, with a warning, unless there are no others."""
    text_columns = [k for k in score_columns if _is_text_column(table, k)]
    first_cells = {table.names[k]: table.get_cells(k)[0] for k in text_columns}
    nested = {name: cell for name, cell in first_cells.items() if isinstance(cell, Mapping | list)}
    id_columns = [k for k in score_columns if k not in text_columns and _has_ids(table, k)]
    unused_columns = [*text_columns, *id_columns]
    is_in_cells = any(name in cell for cell in nested.values() for name in table.source.requested)
    if nested and (is_in_cells or len(unused_columns) == len(score_columns)):
        refuse_nested_values(nested)
    if 0 < len(unused_columns) < len(score_columns):
        used_columns = {*range(len(table.names))}.difference(unused_columns)
        table.columns.refuse_decisive(SCORES, used_columns)
        listing = list_some([quote(table.names[k]) for k in unused_columns], 5)
        has_text = len(text_columns) > len(nested)
        contents = {"text": has_text, "nested values": nested, "ids": id_columns}
        nouns = join_with_and([name for name in contents if contents[name]])
        note = f"columns not used: {listing}; they contain {nouns}, not scores"
        warn(f"{table.source.name}: {note}")
        return [k for k in score_columns if k not in unused_columns]
    return score_columns


_ID_NAME = re.compile(r"(.*[\W_])?(id|Id|ID)|.*[a-z]I[dD]")


def _has_ids(table: ScoreTable, k: int) -> bool:
    """Return True if a column has only integers, and a name of ids, such as `doc_id`."""
    numbers, n_texts = table.read_numbers(k)
    return bool(_ID_NAME.fullmatch(table.names[k]) and not n_texts and (numbers % 1 == 0).all())


def refuse_nested_values(values: Mapping[Any, Any]) -> NoReturn:
    raise InputError(
        f"expected scores, got nested values: {describe_structure(values)}; write a table with"
        " columns topic, system and score"
    )


def _are_descriptions(table: ScoreTable, columns: Sequence[int], topics: pl.Series) -> bool:
    """Return True if columns are texts of a single system, with a row for each topic."""
    has_one_system = topics.is_unique().all()
    return has_one_system and all(_is_text_column(table, k) for k in columns)


def _find_topics(
    table: ScoreTable, roles: Mapping[str, int], score_columns: Sequence[int]
) -> pl.Series | None:
    """Return the topic of each row; None if the table has none, so that rows are numbered."""
    if "topic" in roles:
        return table.convert_labels(roles["topic"], "topic")
    role = next((role for role in ("system", "measure", *AXES) if role in roles), None)
    has_index = bool(score_columns) and score_columns[0] == 0 and not table.names[0]
    if role == "system" and has_index:
        # A table with a single row for each system has their means, and an index of its rows.
        systems = table.convert_labels(roles[role], role)
        has_index = len(systems) < 2 or not systems.is_unique().all()
    if role is not None and not has_index:
        raise InputError(
            f"expected a column of topics beside the column of {role}s,"
            f" {quote(table.names[roles[role]])}, got none; scores by topic are written by"
            " write_csv of Scores or by cranfield evaluate --by-topic; if the other columns are"
            " topics, transpose the table"
        )
    if not score_columns or score_columns[0] != 0:
        return None
    name, cells = table.names[0], table.get_cells(0)
    if INDEX_NAME.fullmatch(fold_name(name)):
        topics = table.convert_labels(0, "topic")
        if are_measures(topics, table.source.requested):
            raise InputError(
                f"expected a row for each topic, got rows of measures ({list_some(topics, 3)});"
                " transpose the table, so that the measures are columns"
            )
        names = [table.names[k] for k in score_columns[1:]]
        has_topic_columns = names and all(map(_TOPIC_NAME.fullmatch, names))
        if has_topic_columns and not any(map(_TOPIC_NAME.fullmatch, topics)):
            raise InputError(
                f"expected topics in rows and systems in columns, got columns"
                f" {list_some(names, 3)}; transpose the table, or name its first column topic"
            )
        return topics
    numbers, n_texts = table.read_numbers(0)
    if n_texts and numbers.is_empty():
        return table.convert_labels(0, "topic")
    if n_texts:
        raise InputError(
            f"expected numbers or text in the first column, {quote(name)}, got both; rename it to"
            " topic if it has the topics"
        )
    # Topics that are numbers would otherwise be read as scores of a system.
    if len(cells) > 1 and _are_distinct_integers(cells) and {*numbers} != {0, 1}:
        raise InputError(
            f"expected topics or scores in the first column, {quote(name)}, got a different integer"
            " in each row; rename it to topic if these are topics, or add a column topic if they"
            " are scores"
        )
    return None


_TOPIC_NAME = re.compile(r"(q|t|topic|query|question)[-_ ]?\d+", re.IGNORECASE)
_STATISTIC_NAME = re.compile(
    r"(.*[\W_])?(p[\W_]?values?|std|stdev|stderr|sd|diff|delta|Δ|gain|improvement|weights?|best"
    r"|worst)",
    re.IGNORECASE,
)
_ERROR_NAME = re.compile(r"(.+)[\W_](se|sem|ci|err|error|var)", re.IGNORECASE)
_INTEGER_NAME = re.compile(
    r"(.*[\W_])?(ranks?|fold|seed|split|rel|relevant|recall_base|count|idx|index|year|row)|level_\d",
    re.IGNORECASE,
)


def _warn_of_statistics(table: ScoreTable, columns: Sequence[int]) -> None:
    """Warn of columns that are read as systems although their names look like statistics."""
    numbers = {k: table.read_numbers(k)[0] for k in columns}
    has_fractions = {k: (numbers[k] % 1 != 0).any() for k in columns}
    fractions = [numbers[k] for k in columns if has_fractions[k]]
    has_scores_to_1 = bool(fractions) and all(x.is_between(0, 1).all() for x in fractions)
    # Systems may be letters.
    has_long_names = sum(len(table.names[k]) > 1 for k in columns) > 1
    suspect_names = [
        quote(name)
        for k in columns
        if (may_be_summary(name := table.names[k]) and (len(name) > 1 or has_long_names))
        or _STATISTIC_NAME.fullmatch(name)
        or ((match := _ERROR_NAME.fullmatch(name)) and match[1] in table.names)
        or (_INTEGER_NAME.fullmatch(name) and not has_fractions[k])
        or (has_scores_to_1 and not has_fractions[k] and (numbers[k] > 1).any())
    ]
    if suspect_names:
        listing = list_some(suspect_names, 5)
        warn(
            f"{table.source.name}: columns read as systems: {listing}; remove them if they"
            " are not systems"
        )


def _make_frame(
    table: ScoreTable, roles: dict[str, int], score_columns: list[int], topics: pl.Series
) -> pl.DataFrame:
    """Return the scores of a long table, or those of each row and system of a wide one."""
    labels: dict[str, Any] = {"system": table.source.stem}
    labels |= {role: table.convert_labels(k, role) for role, k in roles.items() if role != "score"}
    labels["topic"], labels["shard"] = topics, labels.pop(_find_third_axis(table, roles), None)
    has_score_column = "score" in roles
    is_long = has_score_column or "system" in roles
    columns = [roles["score"]] if has_score_column else score_columns
    if not columns or (is_long and "measure" in roles and len(columns) > 1):
        names = [quote(table.names[k]) for k in columns]
        raise InputError(f"expected a column of scores, got {list_some(names, 5) or 'none'}")
    names = [table.names[k] for k in columns]
    for name in filter(None, table.names):
        if table.names.count(name) > 1:
            raise InputError(f"expected distinct names of columns, got two columns {quote(name)}")
    # A table with a column for each measure describes a single run.
    has_measure_columns = not (has_score_column or "measure" in roles) and (
        is_long or are_measures(names, table.source.requested, "columns")
    )
    if not (is_long or has_measure_columns):
        _warn_of_statistics(table, columns)
        warn_if_transposed(table.source, names, topics)
    elif not is_long and "topic" not in roles:
        warn_of_systems(table.source, topics)
    frames = []
    for name, k in zip(names, columns, strict=True):
        if has_measure_columns:
            labels["measure"] = name
        elif not is_long:
            labels["system"] = name
        frames.append(make_score_frame(labels, table.get_scores(k), table.columns.lines))
    key = ["topic", "shard"] if has_measure_columns else ["measure", "topic", "shard"]
    repeats = frames[0].filter(~pl.struct(key).is_first_distinct())
    if not is_long and repeats.height:
        reason = "expected one row for each topic, got two"
        raise InputError(reason, line=repeats["line"][0], topic=repeats["topic"][0])
    rows = pl.concat(frame.with_row_index("row") for frame in frames)
    return rows.sort("row", maintain_order=True).drop("row")


_TOPIC_ID = re.compile(r"(q|qid|query|topic)?[\W_]?\d+", re.IGNORECASE)
"""Names that look like ids of topics rather than names of systems."""


def warn_if_transposed(
    source: ScoreSource,
    labels: list[str],
    topics: Sequence[str] | pl.Series,
    kind: str = "systems",
) -> None:
    """Warn if labels of systems or measures look like topics, and topics do not."""
    if not len(topics) or not labels or any(map(_TOPIC_ID.fullmatch, topics)):
        return
    if all(map(_TOPIC_ID.fullmatch, labels)):
        is_table = kind == "systems"
        advice = "transpose the table" if is_table else "pass {system: {topic: score}}"
        warn(
            f"{source.name}: {list_some(map(quote, labels), 3)} look like topics, but are read as"
            f" {kind}, and {list_some(map(quote, topics), 3)} as topics; {advice} if this is wrong"
        )


def warn_of_systems(source: ScoreSource, topics: Sequence[str] | pl.Series) -> None:
    """Warn if topics of a table with a column per measure look like systems."""
    names = [topic for topic in topics if not re.search(r"\d|\s", topic)]
    if names:
        warn(
            f"{source.name}: {list_some(map(quote, names), 3)} are read as topics of"
            f" {quote(source.stem)}; if these are systems, pass their scores by topic"
        )


def read_frame(data: Any, source: ScoreSource) -> ScoreTable:
    """Read a data frame, and its index unless it numbers the rows; lines are rows, from 1."""
    columns = read_frame_columns(data, source.name)
    if any(isinstance(name, tuple) for name in columns.names):
        raise InputError("expected one level of column names, got several")
    height = len(columns.cells(0)) if columns.names else 0
    if not height:
        raise InputError("expected at least one row, got none")
    table = ScoreTable(source, replace(columns, lines=range(1, height + 1)))
    index = getattr(data, "index", None)
    if index is None or not hasattr(index, "names"):
        return table
    axis = getattr(data.columns, "name", None)
    if isinstance(axis, str) and SCORES.find_column(axis) == "topic":
        raise InputError(
            f"expected topics in rows, got them in columns ({quote(axis)}); transpose the table"
        )
    levels = list(index.names)
    return _prepend_index(table, levels, [[*index.get_level_values(k)] for k in range(len(levels))])


def read_parquet(raw: bytes, source: ScoreSource) -> ScoreTable:
    """Read Parquet; columns that pandas saved as the index of a frame become its index again."""
    frame = read_parquet_frame(raw, source.name)
    with convert_parquet_errors(source.name):
        metadata = pl.read_parquet_metadata(io.BytesIO(raw))
    try:
        index = json.loads(metadata.get("pandas", ""))["index_columns"]
        index = [name for name in index if name in frame.columns]
    except (ValueError, KeyError, TypeError, RecursionError):
        index = []
    if not index or frame.is_empty():
        return read_frame(frame, source)
    levels = [None if name.startswith("__index_level_") else name for name in index]
    labels = [frame[name].to_list() for name in index]
    return _prepend_index(read_frame(frame.drop(index), source), levels, labels)


def _prepend_index(table: ScoreTable, levels: list[Any], labels: list[list[Any]]) -> ScoreTable:
    """Put the index of a pandas frame in front of the columns."""
    level_roles = [None if level is None else SCORES.find_column(level) for level in levels]
    if len(levels) > 1 and None in level_roles:
        level = levels[level_roles.index(None)]
        raise InputError(
            f"unknown index level {quote(level)}; expected topic, system, measure, shard, replicate"
        )
    # A level of unknown name contains the topics, unless it only numbers the rows.
    if level_roles == [None]:
        has_topics = any(SCORES.find_column(name) == "topic" for name in table.names)
        if has_topics or (levels == [None] and labels[0] == list(range(len(labels[0])))):
            return table
        levels = [""]
    cells: list[Cells] = [*labels, *map(table.get_cells, range(len(table.names)))]
    columns = replace(table.columns, names=[*levels, *table.names], cells=cells.__getitem__)
    return replace(table, columns=columns)
