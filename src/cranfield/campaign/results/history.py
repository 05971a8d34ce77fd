"""History of scores: entries of campaigns and leaderboards over time, and the records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from cranfield import result, tabular
from cranfield.base.arrays import remove_noise
from cranfield.base.errors import (
    ArgumentError,
    CranfieldError,
    InputError,
    PolicyError,
    check_list,
    find_command_option,
    quote,
    warn,
)
from cranfield.base.text import inflect, list_some
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.store.records import REGISTRY, read_json
from cranfield.evaluation.scorefiles.cells import RANGE_TOLERANCE
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import suggests_lower
from cranfield.sources.archives import match_files
from cranfield.sources.chunks import Source
from cranfield.sources.columns import Columns, read_file_columns, read_parquet_frame
from cranfield.sources.schemas import FileColumn, Schema, declare_optional, fold_name
from cranfield.sources.values import NO_SCORE, NUMBER, TAG, is_absent, parse_number

_DATE = replace(TAG, read=lambda cell: str(cell) if isinstance(cell, date) else TAG.read(cell))

_LEADERBOARD = Schema(
    "table of a leaderboard",
    (
        FileColumn("date", _DATE, "date of entry"),
        FileColumn("entry", TAG),
        declare_optional("team", TAG, "team of entry"),
        declare_optional("mark", TAG),
    ),
    hint="; set columns={{'{name}': ...}}",
)

NO_MARK = ("", "-", "no", "false", "0")
"""Marks of entries that are not from the organisers."""

OWN_MARKS = ("🏛", "own", "organiser", "organizer", "organisers", "organizers", "yes", "true", "1")
"""Marks of entries of the organisers."""

_BLANK = " \ufe0f"
"""Characters that are removed around marks: blanks, and the variation selector of emoji."""

_DAY = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:$|\D.*)", re.ASCII)

_DTYPES = {
    "date": pl.Date,
    "entry": pl.String,
    "team": pl.String,
    "score": pl.Float64,
    "own": pl.Boolean,
    "source": pl.String,
    "collection": pl.String,
    "lower_is_better": pl.Boolean,
}
"""Types of the columns of entries; `lower_is_better` is True if lower scores are better."""


@dataclass
class _EntryReader:
    """Reads the entries of sources, with options of :func:`history`."""

    measure: str | None  # if None, it is set by the first campaign or release
    task: str | None
    standardised: bool
    columns: Mapping[str, str]
    own: tuple[str, ...]
    includes_retracted: bool
    used_options: set[str] = field(default_factory=set)  # options that apply to some source
    unreadable_runs: list[str] = field(default_factory=list)  # reasons why runs are excluded
    notes: list[str] = field(default_factory=list)

    def read(self, source: PathName) -> pl.DataFrame:
        if not isinstance(source, str | PathLike):
            raise ArgumentError(f"a source must be a path, got {quote(source)}")
        frames = [pl.DataFrame(schema=_DTYPES)]
        for path in _find_paths(fspath(source)):
            # A relative path such as `.` has no name.
            full_path = path.absolute()
            is_retracted = (full_path.parent / f"{full_path.name}.retracted.json").is_file()
            if is_retracted and not self.includes_retracted:
                warn(f"{path} was retracted and is excluded")
                continue
            if (path / REGISTRY).is_file():
                frame, option = self.read_campaign(path), "task"
            elif (path / "data" / "about.json").is_file():
                frame, option = self.read_release(path), "task"
            elif path.is_dir():
                raise InputError("is neither a campaign nor a release", source=str(path))
            else:
                frame, option = self.read_table(path), "columns"
            self.used_options.add(option)
            frame = frame.with_columns(source=pl.lit(str(path)))
            frames.append(frame.select(pl.col(name).cast(dtype) for name, dtype in _DTYPES.items()))
        return pl.concat(frames)

    def read_campaign(self, folder: Path) -> pl.DataFrame:
        campaign = OpenedCampaign(folder)
        scoring = Scoring(campaign, self.task, self.measure and [self.measure])
        scoring.measures = scoring.measures[:1]
        self.measure = self.measure or str(scoring.measures[0])
        [scores] = scoring.evaluate().values()
        if self.standardised:
            values = _standardise(scores)
        else:
            values = pl.DataFrame({"entry": scores.systems, "score": scores.overall()})
        self.unreadable_runs.extend(campaign.unreadable_runs.values())
        rows = [(run.tag, run.team, run.received) for run in scoring.submissions]
        runs = pl.DataFrame(rows, ["tag", "team", "received"], orient="row")
        collection = (campaign.rules.id, scoring.rules.name, scoring.judgments.version)
        return _make_entries(values, runs, collection, scoring.measures[0])

    def read_release(self, folder: Path) -> pl.DataFrame:
        data = folder / "data"
        about = read_json(data / "about.json")
        task, measures = about["task"], about["measures"]
        if self.task is not None and task != self.task:
            raise PolicyError(f"expected task {quote(self.task)}, got {quote(task)} in {folder}")
        self.measure = self.measure or measures[0]
        measure = parse_measure(self.measure)
        name = str(measure)
        if name not in measures:
            names = ", ".join(measures)
            raise PolicyError(f"{folder} has no scores by {name}; expected one of: {names}")
        if self.standardised:
            path = data / "scores" / "scores.parquet"
            frame = read_parquet_frame(path.read_bytes(), str(path))
            score_frame = frame.pivot("system", index="topic", values=name)
            topics, systems = tuple(score_frame["topic"]), tuple(score_frame.columns[1:])
            cells = score_frame.drop("topic").to_numpy()
            values = _standardise(Scores(cells, topics, systems, definition=measure))
        else:
            table = pl.read_csv(data / "leaderboard.csv", schema_overrides={"tag": pl.String})
            values = table.select(entry="tag", score=pl.col(name).cast(pl.Float64))
        runs = pl.read_csv(data / "runs.csv", infer_schema=False)
        dated_runs = runs.filter(pl.col("received").fill_null("") != "")
        if dated_runs.is_empty():
            raise InputError(
                "does not state when runs of anonymous teams arrived; use the campaign's folder",
                source=str(folder),
            )
        if n_undated := runs.height - dated_runs.height:
            values = values.join(dated_runs, left_on="entry", right_on="tag", how="semi")
            count, verb = inflect(n_undated, "run"), "is" if n_undated == 1 else "are"
            self.notes.append(
                f"{count} of anonymous teams {verb} excluded, because the release {folder.name}"
                " does not state when they arrived; they may be better than a record"
            )
        collection = (about["campaign"], task, about["judgments"])
        return _make_entries(values, dated_runs, collection, measure)

    def read_table(self, path: Path) -> pl.DataFrame:
        """Read the table of a leaderboard: a file with named columns, such as CSV."""
        if not self.measure:
            raise PolicyError(f"measure must name the column of scores of the table {path}")
        if self.standardised:
            raise PolicyError(
                f"{path} has no scores by topic, so its scores cannot be standardised; compare it"
                " only with scores of the same collection, without standardisation"
            )
        source = read_file_columns(Source(str(path)), replace(_LEADERBOARD, columns=()))
        names = [str(name) for name in source.names]
        requested_names = {role: name for role, name in self.columns.items() if role != "score"}
        indices = _LEADERBOARD.find_positions(names, str(path), requested_names)
        name_of = {role: names[k] for role, k in indices.items()}
        name_of["score"] = self.columns.get("score") or _find_column(names, self.measure, path)
        if "mark" not in name_of and "" in names:
            name_of["mark"] = ""
        if fold_name(name_of["score"]) != fold_name(self.measure):
            self.notes.append(f"{self.measure} is read from the column {quote(name_of['score'])}")
        if "mark" in name_of:
            self.used_options.add("own")
        _warn_of_unused_columns(source, {names.index(name) for name in name_of.values()})
        score_kind = replace(NUMBER, becomes_null=lambda cell: is_absent(cell, NO_SCORE))
        kinds = {name_of["date"]: _DATE, name_of["score"]: score_kind}
        columns = tuple(
            FileColumn(name, kinds.get(name, TAG), None) for name in dict.fromkeys(name_of.values())
        )
        schema = replace(_LEADERBOARD, columns=columns, decisive_kinds=(), is_selected=True)
        table = source.make_table(schema, {column.name: column.name for column in columns})
        cells = {role: table.frame[name] for role, name in name_of.items()}
        blanks = pl.Series([""], dtype=pl.String).new_from_index(0, table.frame.height)
        marks = cells.get("mark", blanks).fill_null("").str.strip_chars(_BLANK).str.to_lowercase()
        own_marks = [mark.strip(_BLANK).lower() for mark in self.own]
        # Emoji, such as cups, are marks of records.
        words = {mark for mark in marks if re.search(r"[^\W\d_]", mark)} - {*own_marks, *NO_MARK}
        if words:
            self.notes.append(
                f"entries with marks such as {list_some(map(quote, sorted(words)), 3)} are counted"
                " as entries of participants; list the marks of the organisers' entries in"
                f" {find_command_option('own=[...]') or 'own=[...]'}"
            )
        days = []
        for row, day in enumerate(cells["date"]):
            try:
                days.append(_parse_day(day or ""))
            except CranfieldError as error:
                raise table.make_row_error(row, str(error)) from None
        measure = _find_measure(self.measure)
        if measure is not None:
            _warn_of_mixed_scores(cells["score"], cells["entry"], measure, str(path))
        return pl.DataFrame(
            {
                "date": pl.Series(days, dtype=pl.Date),
                "entry": cells["entry"],
                "team": cells.get("team", blanks),
                "score": cells["score"],
                "own": marks.is_in(own_marks),
            }
        ).with_columns(
            collection=pl.lit(path.name),
            lower_is_better=measure is not None and measure.info.lower_is_better,
        )


def _make_entries(
    values: pl.DataFrame, runs: pl.DataFrame, collection: tuple[str, str, str], measure: Measure
) -> pl.DataFrame:
    """Add the day and the team of each run to scores by entry."""
    days = pl.Series([_parse_day(text) for text in runs["received"]], dtype=pl.Date)
    run_columns = runs.select("team", entry="tag", date=days)
    return values.join(run_columns, on="entry", maintain_order="left").with_columns(
        own=False,
        collection=pl.lit("{}/{}, judgment version {}".format(*collection)),
        lower_is_better=measure.info.lower_is_better,
    )


def _find_paths(source: str) -> list[Path]:
    names = match_files(source)
    if names is None:
        return [Path(source)]
    # The notes of retracted releases are JSON files beside them.
    paths = [path for path in map(Path, names) if path.suffix != ".json"]
    if not paths:
        raise InputError("no file matches the pattern", source=source)
    return paths


def _standardise(scores: Scores) -> pl.DataFrame:
    from cranfield.significance.transform import standardise

    z_scores = standardise(scores)
    return pl.DataFrame({"entry": z_scores.systems, "score": z_scores.mean()})


_FLAGS = frozenset({"true", "false", "yes", "no"})
"""Values of flags, such as `is_public` or `baseline`, which may mark entries that do not count."""


def _warn_of_unused_columns(table: Columns, used_indices: set[int]) -> None:
    """Warn of unused columns that may say that an entry does not count."""
    schema = replace(_LEADERBOARD, decisive_kinds=("status", "split", "measure"), is_selected=True)
    unused_columns = []
    *_, decisive_indices = schema.find_unused(table.names, used_indices)
    for k in (k for k in range(len(table.names)) if k not in used_indices):
        values = {"" if cell is None else str(cell).strip() for cell in table.get_column(k)}
        # Columns of other numbers are scores, such as an error rate.
        words = {value for value in values if parse_number(value) is None} - {""}
        is_flag = bool(words) and {word.lower() for word in words} <= _FLAGS
        is_decisive = k in decisive_indices and (words or values <= {"", "0", "1"})
        if len(values) > 1 and (is_decisive or is_flag):
            unused_columns.append(
                f"{quote(table.names[k])} ({list_some(sorted(values - {''}), 3)})"
            )
    if unused_columns:
        warn(
            f"{table.source}: columns not used: {', '.join(unused_columns)}; all rows count as"
            " entries, so remove rows that should not count"
        )


_QUALIFIER = re.compile(r"\s*[(\[].*[)\]]\s*$")
"""Text in brackets at the end of a column's name, such as `(Eval)`."""


def _find_column(names: list[str], measure: str, path: Path) -> str:
    """Return the column named like a measure, perhaps with a text in brackets at the end."""
    exact_names = [name for name in names if name == measure]
    exact_names = exact_names or [name for name in names if fold_name(name) == fold_name(measure)]
    candidates = exact_names or [
        name for name in names if fold_name(_QUALIFIER.sub("", name)) == fold_name(measure)
    ]
    if len(candidates) == 1:
        return candidates[0]
    choices = list_some(map(quote, candidates or names), 12)
    if candidates:
        raise PolicyError(
            f"{path}: several columns begin with {measure}; choose one by its full name: {choices}"
        )
    raise InputError(f"has no column {quote(measure)}; columns: {choices}", source=str(path))


def _find_measure(measure: str) -> Measure | None:
    """Return the measure of this name, without a text in brackets at the end; None if unknown."""
    with suppress(CranfieldError):
        return parse_measure(_QUALIFIER.sub("", measure))
    return None


def _warn_of_mixed_scores(
    scores: pl.Series, entries: pl.Series, measure: Measure, source: str
) -> None:
    """Warn if some but not all scores are outside the range of a measure, as for percentages."""
    low, high = measure.info.range
    is_outside = (scores < low - RANGE_TOLERANCE) | (scores > high + RANGE_TOLERANCE)
    # A failed entry may have 0 among percentages.
    if (outliers := scores.filter(is_outside)).len() and (~is_outside & (scores != 0)).any():
        example = f"{outliers[0]:g} of {quote(entries.filter(is_outside)[0])}"
        warn(
            f"{source}: {measure} has {inflect(outliers.len(), 'score')} outside its range {low:g}"
            f" to {high:g}, such as {example}, and others within it; check for percentages"
        )


def _parse_day(text: str) -> date:
    """Return the day of a date or time; of a time with an offset, the day in UTC."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(re.sub(r"\s+(?=[+-])", "", text.strip()))
        if time.tzinfo is not None:
            return time.astimezone(UTC).date()
    match = _DAY.fullmatch(text.strip())
    if match is None:
        raise CranfieldError(f"expected a date such as 2026-08-15, got {quote(text)}")
    try:
        return date(*map(int, match.groups()))
    except ValueError:
        raise CranfieldError(f"expected a date such as 2026-08-15, got {quote(text)}") from None


_ENTRY_COLUMNS: result.Columns = {
    "date": result.Column("Day of the entry.", key=True),
    "entry": result.Column(
        "Name of the entry; for a campaign or release, the tag of the run.", key=True
    ),
    "team": result.Column("Team of the entry; empty or null if the source names no team."),
    "score": result.Column("Score by the measure, standardised if `History.standardised`."),
    "own": result.Column("Whether the entry is a run of the organisers."),
    "record": result.Column("Whether the entry is a record; see `History.select_records`."),
    "source": result.Column("Folder or file that the entry comes from."),
    "collection": result.Column(
        "Campaign, task and version of the judgments; for a table of scores, the name of its file."
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class History(result.Result):
    """Entries of campaigns and leaderboards, in order of day; returned by :func:`history`.

    Attributes
    ----------
    measure
        Measure of the scores, or column of the tables.
    standardised
        Whether scores are standardised by the runs of their campaign.
    frame
        One row per entry, in order of day.
    notes
        Notes on excluded entries, and on whether scores are comparable.
    unreadable_runs
        Reasons why runs of campaigns could not be read; these runs are excluded.
    """

    columns: ClassVar[Mapping[str, result.Columns]] = {
        "entries": _ENTRY_COLUMNS,
        "records": _ENTRY_COLUMNS,
    }

    measure: str
    standardised: bool
    frame: pl.DataFrame
    notes: tuple[str, ...]
    unreadable_runs: tuple[str, ...] = ()

    def select_records(self) -> pl.DataFrame:
        """Return the entries that are better than all earlier entries.

        On each day, only the best entry can be a record. An equal score is not a record. Entries of
        the organisers are never records, but a record must be better than them.
        """
        return self.frame.filter("record")

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all entries, and the records."""
        return {"entries": self.frame, "records": self.select_records()}

    def facts(self) -> dict[str, Any]:
        """Return the measure, and whether scores are standardised."""
        return {"measure": self.measure, "standardised": self.standardised}

    def format_notes(self) -> list[str]:
        """Return no lines, because the notes are printed below the table."""
        return []

    def tables(self, name: str = "records") -> list[tabular.Table]:
        """Return the records as a table, without source and collection if constant, or empty teams.

        Parameters
        ----------
        name
            `records`, or `entries` for all entries.
        """
        frame = self.to_polars(name)
        hidden_columns = [k for k in ("source", "collection") if self.frame[k].n_unique() == 1]
        hidden_columns += [] if any(frame["team"]) else ["team"]
        if name == "records":
            count_text = inflect(frame.height, "record")
            hidden_columns += ["own", "record"]
        else:
            count_text = f"{frame.height:,} {'entry' if frame.height == 1 else 'entries'}"
        table = tabular.tabulate_frame(frame.drop(hidden_columns), f"{self.measure}: {count_text}")
        return [replace(table, remarks=list(self.notes))]

    def __repr__(self) -> str:
        sizes = f"{self.frame.height:,} entries, {inflect(self.select_records().height, 'record')}"
        return f"History({self.measure}: {sizes})"


def history(
    sources: PathName | Iterable[PathName],
    measure: str | None = None,
    *,
    task: str | None = None,
    standardised: bool = False,
    columns: Mapping[str, str] | None = None,
    own: Sequence[str] = OWN_MARKS,
    lower_is_better: bool = False,
    includes_retracted: bool = False,
) -> History:
    """Combine the scores of campaigns, releases and public leaderboards in order of day.

    Parameters
    ----------
    sources
        Folders of campaigns, folders of releases, and tables of leaderboards (CSV and other files
        with named columns); patterns such as `releases/*`.
    measure
        Measure, such as `nDCG@10`; by default the first measure of the first campaign or release.
        For tables, the column of scores; `nDCG@10` also finds the column `nDCG@10 (test)`.
    task
        Name of the task; required for campaigns with several tasks.
    standardised
        Whether to standardise scores by the runs of each campaign, so that scores of different
        collections can be compared. This requires scores by topic, which tables do not have. See
        :func:`cranfield.significance.standardise`.
    columns
        Names of columns in tables, by role: `score`, `date`, `entry`, `team` or `mark`.
    own
        Values of the column `mark` that denote entries of the organisers.
    lower_is_better
        Whether to treat lower scores in tables as better; campaigns and releases record the
        direction of their measures.
    includes_retracted
        Whether to include retracted releases.

    Returns
    -------
    History
        All entries; :meth:`~History.select_records` returns the records. Entries without a score
        are excluded, with a note.

    Raises
    ------
    PolicyError
        For no source, several collections without standardisation, a table without `measure` or
        with `standardised`, an unknown role in `columns`, and an option that applies to no source.
    InputError
        For a source that cannot be read, a missing column, and an invalid date.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> rows = ["date,run,mark,MRR", "2020-08-01,bm25,own,0.2", "2020-09-01,a,,0.3"]
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "board.csv").write_text("\\n".join([*rows, "2020-10-01,b,,0.3"]))
    ...     scores = history(Path(folder, "board.csv"), "MRR")
    >>> scores, scores.select_records()["entry"].to_list()
    (History(MRR: 3 entries, 1 record), ['a'])
    """
    check_list("own", own)
    columns = columns or {}
    roles = ("score", "date", "entry", "team", "mark")
    for role in columns:
        if role not in roles:
            raise PolicyError(f"unknown column {quote(role)}; expected one of: {', '.join(roles)}")
    source_list = [sources] if isinstance(sources, str | PathLike) else list(sources)
    if not source_list:
        raise PolicyError("expected at least one source, got none")
    reader = _EntryReader(measure, task, standardised, columns, tuple(own), includes_retracted)
    entries = pl.concat(reader.read(source) for source in source_list)
    measure = reader.measure
    if measure is None:
        raise PolicyError("measure is required, as all sources are retracted")
    for name, is_set, required_sources in (
        ("task", task is not None, "campaigns and releases"),
        ("columns", bool(columns), "tables"),
        ("own", tuple(own) != OWN_MARKS, "tables with a column 'mark'"),
    ):
        if is_set and name not in reader.used_options:
            raise PolicyError(f"{name} requires {required_sources} among the sources")
    collections = entries["collection"].unique(maintain_order=True).to_list()
    if len(collections) > 1 and not standardised:
        names = list_some(map(quote, collections), 3)
        raise PolicyError(
            f"scores of {len(collections)} collections ({names}) cannot be compared, because"
            " collections differ in difficulty; standardise them, or use one collection at a time"
        )
    scored_entries = entries.filter(pl.col("score").is_not_null())
    notes = [*dict.fromkeys(reader.notes)]
    if n_missing := entries.height - scored_entries.height:
        verb = "has no score and is" if n_missing == 1 else "have no score and are"
        notes.append(f"{n_missing:,} of {entries.height:,} entries {verb} excluded")
    if standardised and len(collections) > 1:
        notes.append(
            "scores are standardised by the runs of each campaign, so the same run has a lower"
            " score in a campaign with better runs"
        )
    is_recorded_lower = bool(entries["lower_is_better"].any())
    if lower_is_better and not is_recorded_lower and "columns" not in reader.used_options:
        raise PolicyError(
            "lower_is_better=True requires tables among the sources; campaigns and releases record"
            f" that higher scores of {measure} are better"
        )
    lower_is_better = lower_is_better or is_recorded_lower
    if lower_is_better:
        notes.append(f"lower scores of {measure} are better")
    elif _find_measure(measure) is None or (
        # A declared name may have another meaning: EER may be the equal error rate.
        suggests_lower(measure) and "columns" in reader.used_options
    ):
        add_note = warn if suggests_lower(measure) else notes.append
        option = find_command_option("lower_is_better=True") or "lower_is_better=True"
        add_note(f"higher scores of {measure} count as better; {option} reverses this")
    frame = mark_records(scored_entries, lower_is_better)
    return History(measure, standardised, frame, tuple(notes), tuple(reader.unreadable_runs))


def mark_records(entries: pl.DataFrame, lower_is_better: bool = False) -> pl.DataFrame:
    """Return entries in order of day, with a column `record` that is True for records."""
    # Means that differ only by rounding, such as 0.1 + 0.2 and 0.3, are equal.
    values = remove_noise(entries["score"].to_numpy()) * (-1.0 if lower_is_better else 1.0)
    value = pl.col("value")
    # The best entry of each day first; equal entries are in order of rows, after the organisers'.
    sorted_entries = (
        entries.with_columns(value=pl.Series(values, dtype=pl.Float64))
        .with_row_index("row")
        .sort("date", value, "own", "row", descending=[False, True, True, False])
    )
    # The best entry of a day follows all entries of earlier days.
    best_earlier = value.cum_max().shift(1)
    is_better = best_earlier.is_null() | (value > best_earlier)
    is_record = pl.col("date").is_first_distinct() & is_better & ~pl.col("own")
    return (
        sorted_entries.with_columns(record=is_record)
        .sort("date", "row")
        .select("date", "entry", "team", "score", "own", "record", "source", "collection")
    )
