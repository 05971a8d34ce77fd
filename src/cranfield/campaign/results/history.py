"""History: how scores rose over the years."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from cranfield import result, tabular
from cranfield.base.arrays import without_noise
from cranfield.base.errors import (
    ArgumentError,
    CranfieldError,
    InputError,
    PolicyError,
    check_several,
    quoted,
    warn,
)
from cranfield.base.text import counted, some_of
from cranfield.campaign.opened import OpenedCampaign, PathName
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.store.records import REGISTRY, read_json
from cranfield.measures import parse_measure
from cranfield.scores import Scores
from cranfield.sources.archives import matches
from cranfield.sources.chunks import Source
from cranfield.sources.columns import Table, columns_of_file, parquet_frame
from cranfield.sources.schemas import Column, Schema, optional, spelt
from cranfield.sources.values import NUMBER, TAG, absent

_BOARD = Schema(
    "table of a leaderboard",
    (
        Column("date", TAG, "date of entry"),
        Column("entry", TAG),
        optional("team", TAG, "team of entry"),
        optional("mark", TAG),
    ),
    numbered=True,
    hint="; set columns={{'{name}': ...}}",
)

OWN = ("🏛", "own", "organiser", "organizer", "organisers", "organizers", "yes", "true", "1")
"""Marks of the organisers' own entries."""

_BLANK = " \ufe0f"
"""Blanks around marks, and the selector of emoji."""

_DAY = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:$|\D.*)", re.ASCII)

ENTRIES = {
    "date": pl.Date,
    "entry": pl.String,
    "team": pl.String,
    "score": pl.Float64,
    "own": pl.Boolean,
    "source": pl.String,
    "collection": pl.String,
    "falls": pl.Boolean,
}
"""Columns of entries; `falls` is whether a source says that lower scores are better."""


@dataclass
class _Entries:
    """Reads the entries of sources; options as for :func:`history`.

    `used` has those of `task`, `columns` and `own` that some source used, `unreadable` the reason
    for each run of a campaign that cannot be read.
    """

    measure: str
    task: str | None
    standardised: bool
    columns: Mapping[str, str]
    own: tuple[str, ...]
    retracted: bool
    used: set[str] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)

    def read(self, source: PathName) -> pl.DataFrame:
        """Return the entries of a source, with the columns of `ENTRIES`."""
        if not isinstance(source, str | PathLike):
            raise ArgumentError(f"a source must be a path, got {quoted(source)}")
        parts = [pl.DataFrame(schema=ENTRIES)]
        for path in _paths(fspath(source)):
            # The folder that one is in has a name only from the root.
            whole = path.absolute()
            retracted = (whole.parent / f"{whole.name}.retracted.json").is_file()
            if retracted and not self.retracted:
                warn(f"{path} was retracted and is excluded", stacklevel=3)
                continue
            if (path / REGISTRY).is_file():
                frame, used = self.campaign(path), "task"
            elif (path / "data" / "about.json").is_file():
                frame, used = self.release(path), "task"
            elif path.is_dir():
                raise InputError("is neither a campaign nor a release", source=str(path))
            else:
                frame, used = self.table(path), "columns"
            self.used.add(used)
            frame = frame.with_columns(source=pl.lit(str(path)))
            parts.append(frame.select(pl.col(name).cast(kind) for name, kind in ENTRIES.items()))
        return pl.concat(parts)

    def campaign(self, folder: Path) -> pl.DataFrame:
        opened = OpenedCampaign(folder)
        scoring = Scoring(opened, self.task, [self.measure])
        [scores] = scoring.evaluation().values()
        if self.standardised:
            values = _standardised(scores)
        else:
            values = pl.DataFrame({"entry": scores.systems, "score": scores.overall()})
        self.unreadable.extend(opened.unreadable.values())
        known = {one.tag: one for one in scoring.submissions}
        runs = [known[tag] for tag in values["entry"]]
        version = scoring.judgments.version
        return values.with_columns(
            pl.Series("date", [_day(run.received) for run in runs], pl.Date),
            pl.Series("team", [run.team for run in runs], pl.String),
            own=False,
            collection=pl.lit(f"{opened.rules.id}/{scoring.rules.name}, judgments {version}"),
            falls=scoring.measures[0].info.lower_is_better,
        )

    def release(self, folder: Path) -> pl.DataFrame:
        data = folder / "data"
        about = read_json(data / "about.json")
        task, has = about["task"], about["measures"]
        if self.task is not None and task != self.task:
            raise PolicyError(f"{folder} has the task {quoted(task)}, expected {quoted(self.task)}")
        measure = parse_measure(self.measure)
        name = str(measure)
        if name not in has:
            raise PolicyError(f"{folder} has no scores by {name}; it has {', '.join(has)}")
        if self.standardised:
            path = data / "scores" / "scores.parquet"
            frame = parquet_frame(path.read_bytes(), str(path))
            wide = frame.pivot("system", index="topic", values=name)
            topics, systems = tuple(wide["topic"]), tuple(wide.columns[1:])
            table = wide.drop("topic").to_numpy()
            values = _standardised(Scores(table, topics, systems, definition=measure))
        else:
            board = pl.read_csv(data / "leaderboard.csv", schema_overrides={"tag": pl.String})
            values = board.select(entry="tag", score=pl.col(name).cast(pl.Float64))
        runs = pl.read_csv(data / "runs.csv", infer_schema=False)
        collection = f"{about['campaign']}/{task}, judgments {about['judgments']}"
        return values.join(
            runs.select("team", entry="tag", date=pl.col("received").map_elements(_day, pl.Date)),
            on="entry",
            maintain_order="left",
        ).with_columns(own=False, collection=pl.lit(collection), falls=measure.info.lower_is_better)

    def table(self, path: Path) -> pl.DataFrame:
        """Read the table of a leaderboard: a CSV file or another one with named columns."""
        if self.standardised:
            raise PolicyError(
                f"{path} has no scores by topic, so its scores cannot be standardised; compare a"
                " table of overall values with scores of the same collection only"
            )
        given = columns_of_file(Source(str(path)), replace(_BOARD, columns=()))
        names = [str(name) for name in given.names]
        called = {what: name for what, name in self.columns.items() if what != "score"}
        wanted = {what: names[k] for what, k in _BOARD.places(names, str(path), called).items()}
        wanted["score"] = self.columns.get("score") or _score_column(names, self.measure, path)
        if "mark" not in wanted and "" in names:
            wanted["mark"] = ""
        if "mark" in wanted:
            self.used.add("own")
        number = replace(NUMBER, missing=absent)
        columns = tuple(
            Column(name, number if name == wanted["score"] else TAG, None)
            for name in dict.fromkeys(wanted.values())
        )
        schema = replace(_BOARD, columns=columns, decisive=(), asked=True)
        table = given.table(schema)
        read = {what: table.frame[name] for what, name in wanted.items()}
        nothing = pl.Series([""], dtype=pl.String).new_from_index(0, table.frame.height)
        marks = read.get("mark", nothing).fill_null("").str.strip_chars(_BLANK).str.to_lowercase()
        days = [_day_of(table, row, day) for row, day in enumerate(read["date"])]
        return pl.DataFrame(
            {
                "date": pl.Series(days, dtype=pl.Date),
                "entry": read["entry"],
                "team": read.get("team", nothing),
                "score": read["score"],
                "own": marks.is_in([one.strip(_BLANK).lower() for one in self.own]),
            }
        ).with_columns(collection=pl.lit(path.name), falls=False)


def _paths(source: str) -> list[Path]:
    found = matches(source)
    if found is None:
        return [Path(source)]
    # A note beside a release says that it was retracted.
    chosen = [one for one in map(Path, found) if one.suffix != ".json"]
    if not chosen:
        raise InputError("no file matches the pattern", source=source)
    return chosen


def _standardised(scores: Scores) -> pl.DataFrame:
    from cranfield.significance.transform import standardise

    made = standardise(scores)
    return pl.DataFrame({"entry": made.systems, "score": made.mean()})


def _score_column(names: list[str], measure: str, path: Path) -> str:
    """Find the column of a measure: its exact name, or the only one that begins with it."""
    exact = [name for name in names if spelt(name) == spelt(measure)]
    begins = exact or [name for name in names if spelt(name).startswith(spelt(measure))]
    if len(begins) == 1:
        return begins[0]
    listed = some_of(map(quoted, begins or names), 12)
    if begins:
        raise PolicyError(f"{path}: several columns begin with {measure}: {listed}")
    raise InputError(f"has no column {quoted(measure)}; columns: {listed}", source=str(path))


def _day(text: str) -> date:
    found = _DAY.fullmatch(text.strip())
    if found is None:
        raise CranfieldError(f"expected a date such as 2026-08-15, got {quoted(text)}")
    try:
        return date(*map(int, found.groups()))
    except ValueError:
        raise CranfieldError(f"{quoted(text)} is not a date of the calendar") from None


def _day_of(table: Table, row: int, text: str | None) -> date:
    try:
        return _day(text or "")
    except CranfieldError as error:
        raise table.wrong(row, str(error)) from None


REFERENCES = (
    "standardised by the runs of each campaign; the better those runs, the lower the score of a run"
)
"""Note on scores that were standardised by different runs."""


_ENTRIES: result.Columns = {
    "date": result.Column("Day of the entry.", key=True),
    "entry": result.Column("Name of the entry; of a campaign or release, the tag.", key=True),
    "team": result.Column("Team of the entry; empty or null where the source names none."),
    "score": result.Column("Score by the measure."),
    "own": result.Column("Whether it is the organisers' own entry."),
    "record": result.Column("Whether the entry is better than all earlier entries."),
    "source": result.Column("Folder or file that the entry comes from."),
    "collection": result.Column(
        "Collection: of a campaign or release its name, task and version of the judgments, of a"
        " table the name of the file."
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class History(result.Result):
    """Entries of campaigns and leaderboards in order of days; made by :func:`history`.

    Attributes
    ----------
    measure
        The measure, or the column of tables, that scores are of.
    standardised
        Whether scores are standardised by the runs of their campaign.
    frame
        A row for each entry, in order of days.
    notes
        Notes on entries that were excluded, and on how scores compare.
    unreadable
        The reason for each run of a campaign that cannot be read and is excluded.
    """

    columns: ClassVar[Mapping[str, result.Columns]] = {"entries": _ENTRIES, "records": _ENTRIES}

    measure: str
    standardised: bool
    frame: pl.DataFrame
    notes: tuple[str, ...]
    unreadable: tuple[str, ...] = ()

    def records(self) -> pl.DataFrame:
        """Return the entries that beat all earlier ones.

        Days count in order, and of a day the best entry. An equal score is not a record. Entries of
        the organisers are something to beat, and no records.
        """
        return self.frame.filter("record")

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all entries, and the records."""
        return {"entries": self.frame, "records": self.records()}

    def facts(self) -> dict[str, Any]:
        """Return measure and standardisation."""
        return {"measure": self.measure, "standardised": self.standardised}

    def note_lines(self) -> list[str]:
        """Return no lines: the notes stand below the table."""
        return []

    def tables(self, name: str = "records") -> list[tabular.Table]:
        """Return the records for reading, without columns that have the same value in every row.

        Parameters
        ----------
        name
            `records`, or `entries` for all entries.
        """
        frame = self.to_polars(name)
        every = name != "records"
        number = f"{frame.height:,} entries" if every and frame.height != 1 else None
        title = f"{self.measure}: {number or counted(frame.height, 'entry' if every else 'record')}"
        alone = [one for one in ("source", "collection") if self.frame[one].n_unique() == 1]
        hidden = [*alone, *([] if every else ["own", "record"])]
        if not any(frame["team"]):
            hidden.append("team")
        return [replace(tabular.from_frame(frame.drop(hidden), title), remarks=list(self.notes))]

    def __repr__(self) -> str:
        sizes = f"{self.frame.height:,} entries, {counted(self.records().height, 'record')}"
        return f"History({self.measure}: {sizes})"


def history(
    sources: PathName | Iterable[PathName],
    measure: str,
    *,
    task: str | None = None,
    standardised: bool = False,
    columns: Mapping[str, str] | None = None,
    own: Sequence[str] = OWN,
    lower_is_better: bool = False,
    retracted: bool = False,
) -> History:
    """Order the scores of campaigns, releases and public leaderboards by day.

    Parameters
    ----------
    sources
        Folders of campaigns, folders of releases, and tables of boards (CSV and other files with
        named columns); patterns such as `releases/*`.
    measure
        Measure, such as `nDCG@10`, or score column of a table. A column may have a longer name if
        only one begins so.
    task
        Name of the task; required for campaigns with several tasks.
    standardised
        Standardise the scores by the runs of each campaign, so that scores of different collections
        can be compared. See :func:`cranfield.significance.standardise`; this requires scores by
        topic, which tables do not have.
    columns
        Names of the columns score, date, entry, team or mark, in tables where these are named
        differently.
    own
        Values of the column `mark` for entries of the organisers themselves.
    lower_is_better
        Treat lower scores as better, for tables; campaigns and releases know the direction of their
        measures.
    retracted
        Whether releases count that are retracted, by the note beside them.

    Returns
    -------
    History
        Its :meth:`~History.records` are the entries that beat all earlier ones. Entries without a
        score are excluded, and counted.

    Raises
    ------
    PolicyError
        For scores of different collections that are not standardised: how hard a collection is
        would look like progress.
    InputError
        For a source that cannot be read, a column that is not there, a day that is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> rows = ["date,run,mark,MRR", "2020-08-01,bm25,own,0.2", "2020-09-01,a,,0.3"]
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "board.csv").write_text("\\n".join([*rows, "2020-10-01,b,,0.3"]))
    ...     found = history(Path(folder, "board.csv"), "MRR")
    >>> found, found.records()["entry"].to_list()
    (History(MRR: 3 entries, 1 record), ['a'])
    """
    check_several("own", own)
    columns = columns or {}
    roles = ("score", "date", "entry", "team", "mark")
    unknown = [one for one in columns if one not in roles]
    if unknown:
        raise PolicyError(
            f"unknown column {quoted(unknown[0])}; expected one of: {', '.join(roles)}"
        )
    listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
    if not listed:
        raise PolicyError("expected at least one source")
    reader = _Entries(measure, task, standardised, columns, tuple(own), retracted)
    every = pl.concat(reader.read(one) for one in listed)
    given = {"task": task is not None, "columns": bool(columns), "own": tuple(own) != OWN}
    for name, is_given in given.items():
        if is_given and name not in reader.used:
            sources_with = {"task": "campaigns and releases", "columns": "tables"}
            needs = sources_with.get(name, "tables with a column of marks")
            raise PolicyError(f"{name} requires {needs} among the sources")
    collections = every["collection"].unique(maintain_order=True).to_list()
    if len(collections) > 1 and not standardised:
        names = some_of(map(quoted, collections), 3)
        raise PolicyError(
            f"scores of {len(collections)} collections ({names}) cannot be compared, because"
            " collections differ in difficulty; standardise them, or use one collection at a time"
        )
    scored = every.filter(pl.col("score").is_not_null())
    notes = []
    if scored.height < every.height:
        left = every.height - scored.height
        notes.append(f"{left:,} of {every.height:,} entries without a score excluded")
    if standardised and len(collections) > 1:
        notes.append(REFERENCES)
    falls = lower_is_better or bool(every["falls"].any())
    if falls:
        notes.append(f"lower scores of {measure} are better")
    frame = with_records(scored, falls)
    return History(measure, standardised, frame, tuple(notes), tuple(reader.unreadable))


def with_records(entries: pl.DataFrame, lower_is_better: bool = False) -> pl.DataFrame:
    """Return entries in order of days, with a column that marks the records."""
    sign = -1.0 if lower_is_better else 1.0
    worth = pl.col("worth")
    # Equal means of other sums, such as 0.1 + 0.2 and 0.3, are not records.
    settled = without_noise(entries["score"].to_numpy()) * sign
    entries = entries.with_columns(worth=pl.Series(settled, dtype=pl.Float64))
    before = (
        entries.group_by("date")
        .agg(worth.max().alias("best"))
        .sort("date")
        .select("date", before=pl.col("best").cum_max().shift(1))
    )
    # The best of each day stands first, of equal ones the organisers', then the first given.
    best_first = entries.with_row_index("row").sort(
        "date", worth, "own", "row", descending=[False, True, True, False]
    )
    found = best_first.join(before, on="date", how="left", maintain_order="left")
    beats = pl.col("before").is_null() | (worth > pl.col("before"))
    record = pl.col("date").is_first_distinct() & beats & ~pl.col("own")
    return (
        found.with_columns(record=record)
        .sort("date", "row")
        .select("date", "entry", "team", "score", "own", "record", "source", "collection")
    )
