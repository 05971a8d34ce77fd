"""Entries of a history: scores with their days, from campaigns, releases and tables of boards."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from cranfield.base.errors import (
    ArgumentError,
    CranfieldError,
    InputError,
    PolicyError,
    quoted,
    warn,
)
from cranfield.base.words import some_of
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.store.layout import REGISTRY
from cranfield.measures import parse_measure
from cranfield.scores import Scores
from cranfield.sources.chunks import Source
from cranfield.sources.columns import columns_of_file, parquet_frame
from cranfield.sources.patterns import matches
from cranfield.sources.schemas import Column, Schema, optional, spelt
from cranfield.sources.tables import Table, fitted
from cranfield.sources.values import NUMBER, TAG, absent

_BOARD = Schema(
    "table of a board",
    (
        Column("date", TAG, "date of entry"),
        Column("entry", TAG),
        optional("team", TAG, "team of entry"),
        optional("mark", TAG),
    ),
    numbered=True,
    lacks="has no column of the {name}; columns: {have}; columns={{'{name}': ...}} names it",
)

OWN = ("🏛", "own", "organiser", "organizer", "organisers", "organizers", "yes", "true", "1")
"""Marks of the organisers' own entries."""

_DAY = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:$|\D.*)", re.ASCII)

KINDS = {
    "date": pl.Date,
    "entry": pl.String,
    "team": pl.String,
    "score": pl.Float64,
    "own": pl.Boolean,
    "source": pl.String,
    "collection": pl.String,
    "falls": pl.Boolean,
}


@dataclass(frozen=True)
class Asked:
    """Which scores are wanted, and what the columns of tables are called.

    Attributes
    ----------
    measure
        A measure's text form, or the name of a column of scores.
    task
        Of campaigns with several tasks.
    standardised
        Whether scores are standardised by the runs of their campaign.
    columns
        What columns of tables are called: `score`, `date`, `entry`, `team`, `mark`.
    own
        Marks of the organisers' own entries.
    retracted
        Whether retracted releases count.
    unreadable
        Filled with the reason for each run of a campaign that cannot be read.
    used
        Filled with those of `task`, `columns` and `own` that some source has used.
    """

    measure: str
    task: str | None
    standardised: bool
    columns: Mapping[str, str]
    own: tuple[str, ...]
    retracted: bool = False
    unreadable: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def entries_of(source: PathName, asked: Asked) -> pl.DataFrame:
    """Return the entries of a source: a row an entry, with the columns of `KINDS`.

    `falls` is whether lower scores are better, as far as a source says so: tables do not.
    """
    if not isinstance(source, str | PathLike):
        raise ArgumentError(f"a source is a path, not {quoted(source)}")
    parts = []
    for path in _paths(fspath(source)):
        # The folder that one is in has a name only from the root.
        whole = path.absolute()
        retracted = (whole.parent / f"{whole.name}.retracted.json").is_file()
        if retracted and not asked.retracted:
            said = f"{path} was retracted, and is left out"
            warn(said, stacklevel=3)
            continue
        if (path / REGISTRY).is_file():
            frame = _of_campaign(path, asked)
            asked.used.add("task")
        elif (path / "data" / "about.json").is_file():
            frame = _of_release(path, asked)
            asked.used.add("task")
        elif path.is_dir():
            raise InputError("is neither a campaign nor a release", source=str(path))
        else:
            frame = _of_table(path, asked)
            asked.used.add("columns")
        frame = frame.with_columns(source=pl.lit(str(path)))
        parts.append(frame.select(pl.col(name).cast(kind) for name, kind in KINDS.items()))
    return pl.concat(parts) if parts else pl.DataFrame(schema=KINDS)


def _paths(source: str) -> list[Path]:
    found = matches(source)
    if found is None:
        return [Path(source)]
    # A note beside a release says that it was retracted.
    chosen = [one for one in map(Path, found) if one.suffix != ".json"]
    if not chosen:
        raise InputError("no file matches the pattern", source=source)
    return chosen


def _of_campaign(folder: Path, asked: Asked) -> pl.DataFrame:
    opened = Opened(folder)
    scoring = Scoring(opened, asked.task, [asked.measure])
    if asked.standardised:
        [scores] = scoring.evaluation().values()
        values = _standardised(scores)
    else:
        overall = scoring.overall()
        values = pl.DataFrame({"entry": overall["run"], "score": overall[overall.columns[-1]]})
    asked.unreadable.extend(opened.unreadable.values())
    known = {one.tag: one for one in scoring.submissions}
    name = f"{opened.rules.id}/{scoring.rules.name}, judgments {scoring.judgments.version}"
    return values.with_columns(
        pl.Series("date", [_day(known[tag].received) for tag in values["entry"]], pl.Date),
        pl.Series("team", [known[tag].team for tag in values["entry"]], pl.String),
        own=pl.lit(value=False),
        collection=pl.lit(name),
        falls=pl.lit(scoring.measures[0].info.lower_is_better),
    )


def _of_release(folder: Path, asked: Asked) -> pl.DataFrame:
    data = folder / "data"
    about = json.loads((data / "about.json").read_text(encoding="utf-8"))
    if asked.task is not None and about["task"] != asked.task:
        raise PolicyError(f"{folder} is of task {quoted(about['task'])}, not {quoted(asked.task)}")
    measure = str(parse_measure(asked.measure))
    if measure not in about["measures"]:
        raise PolicyError(
            f"{folder} has no scores by {measure}; it has {', '.join(about['measures'])}"
        )
    runs = pl.read_csv(data / "runs.csv", infer_schema=False)
    if asked.standardised:
        path = data / "scores" / "scores.parquet"
        frame = parquet_frame(path.read_bytes(), str(path))
        wide = frame.pivot("system", index="topic", values=measure)
        made = Scores(
            wide.drop("topic").to_numpy(),
            tuple(wide["topic"]),
            tuple(wide.columns[1:]),
            definition=parse_measure(measure),
        )
        values = _standardised(made)
    else:
        board = pl.read_csv(data / "leaderboard.csv", schema_overrides={"tag": pl.String})
        values = board.select(entry="tag", score=pl.col(measure).cast(pl.Float64))
    found = values.join(runs, left_on="entry", right_on="tag", maintain_order="left")
    name = f"{about['campaign']}/{about['task']}, judgments {about['judgments']}"
    return found.select(
        "entry",
        "score",
        "team",
        pl.col("received").map_elements(_day, pl.Date).alias("date"),
        pl.lit(value=False).alias("own"),
        pl.lit(name).alias("collection"),
        pl.lit(parse_measure(measure).info.lower_is_better).alias("falls"),
    )


def _standardised(scores: Scores) -> pl.DataFrame:
    from cranfield.significance.transform import standardise

    made = standardise(scores)
    return pl.DataFrame({"entry": made.systems, "score": made.mean()})


def _of_table(path: Path, asked: Asked) -> pl.DataFrame:
    """Read a board's table: a CSV file or another one with named columns."""
    if asked.standardised:
        raise PolicyError(
            f"{path} has no scores by topic, so they cannot be standardised: a table of overall"
            " values is compared with scores of the same collection alone"
        )
    given = columns_of_file(Source(str(path)), replace(_BOARD, columns=()))
    names = [str(name) for name in given.names]
    called = {what: name for what, name in asked.columns.items() if what != "score"}
    wanted = {what: names[k] for what, k in _BOARD.places(names, str(path), called).items()}
    wanted["score"] = asked.columns.get("score") or _score_column(names, asked.measure, path)
    if "mark" not in wanted and "" in names:
        wanted["mark"] = ""
    if "mark" in wanted:
        asked.used.add("own")
    number = replace(NUMBER, missing=absent)
    columns = tuple(
        Column(name, number if name == wanted["score"] else TAG, None)
        for name in dict.fromkeys(wanted.values())
    )
    schema = replace(_BOARD, columns=columns, decisive=(), asked=True)
    table = fitted(given.matched(schema), schema, given.source, given.lines)
    read = {what: table.frame[name] for what, name in wanted.items()}
    days = [_day_of(table, row, day) for row, day in enumerate(read["date"])]
    nothing = pl.Series([""], dtype=pl.String).new_from_index(0, table.frame.height)
    marks = read.get("mark", nothing).fill_null("").str.strip_chars(" \ufe0f").str.to_lowercase()
    own = [one.strip(" \ufe0f").lower() for one in asked.own]
    return pl.DataFrame(
        {
            "date": pl.Series(days, dtype=pl.Date),
            "entry": read["entry"],
            "team": read.get("team", nothing),
            "score": read["score"],
            "own": marks.is_in(own),
        }
    ).with_columns(collection=pl.lit(path.name), falls=pl.lit(value=False))


def _score_column(names: list[str], measure: str, path: Path) -> str:
    """Find the column of a measure: so called, or the only one that begins so."""
    exact = [name for name in names if spelt(name) == spelt(measure)]
    begins = exact or [name for name in names if spelt(name).startswith(spelt(measure))]
    if len(begins) == 1:
        return begins[0]
    listed = some_of(map(quoted, begins or names), 12)
    if begins:
        raise PolicyError(f"{path}: which column has the scores? {listed} begin with {measure}")
    raise InputError(f"has no column of {quoted(measure)}; columns: {listed}", source=str(path))


def _day(text: str) -> date:
    found = _DAY.fullmatch(text.strip())
    if found is None:
        raise CranfieldError(f"{quoted(text)} is no date, such as 2026-08-15")
    try:
        return date(*map(int, found.groups()))
    except ValueError:
        raise CranfieldError(f"{quoted(text)} is no day of the calendar") from None


def _day_of(table: Table, row: int, text: str | None) -> date:
    try:
        return _day(text or "")
    except CranfieldError as error:
        raise table.wrong(row, str(error)) from None
