"""History: how scores rose over the years, and which entries beat all that were before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import polars as pl

from cranfield.base.arrays import without_noise
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted, some_of
from cranfield.campaign.opened import PathName
from cranfield.campaign.results.entries import OWN, Asked, entries_of
from cranfield.meta.study import Findings
from cranfield.tabular import from_frame
from cranfield.tabular.frames import Framed

REFERENCES = (
    "standardised by the runs of each campaign: among better runs the same run has a lower score"
)
"""What is said of scores that were standardised by different runs."""


@dataclass(frozen=True, eq=False, repr=False)
class History(Framed):
    """Entries of campaigns and boards in order of days; made by :func:`history`.

    Attributes
    ----------
    measure
        What scores are of.
    standardised
        Whether they are standardised by the runs of their campaign.
    frame
        A row an entry, in order of days: `date`, `entry`, `team`, `score`, `own` (the organisers'),
        `record`, `source`, `collection`.
    notes
        What a reader should be told.
    unreadable
        The reason for each run of a campaign that cannot be read and is excluded.
    """

    measure: str
    standardised: bool
    frame: pl.DataFrame
    notes: tuple[str, ...]
    unreadable: tuple[str, ...] = ()

    def records(self) -> pl.DataFrame:
        """Return the entries that beat all earlier ones.

        Days count in order, and of a day the best entry. An equal score is no record. Entries of
        the organisers are something to beat, and no records.
        """
        return self.frame.filter("record")

    def to_polars(self) -> pl.DataFrame:
        """Return all entries."""
        return self.frame

    def findings(self, every: bool = False) -> Findings:
        """Return the records, or all entries, as they are shown and written."""
        frame = self.frame if every else self.records()
        what = "entry" if every else "record"
        number = f"{frame.height:,} entries" if every and frame.height != 1 else None
        title = f"{self.measure}: {number or counted(frame.height, what)}"
        alone = [one for one in ("source", "collection") if self.frame[one].n_unique() == 1]
        hidden = [*alone, *([] if every else ["own", "record"])]
        if not any(frame["team"]):
            hidden.append("team")
        table = replace(from_frame(frame.drop(hidden), title), remarks=list(self.notes))
        about = {"measure": self.measure, "standardised": self.standardised}
        return Findings([], [table], {"entries" if every else "records": (frame, ())}, about)

    def __str__(self) -> str:
        [table] = self.findings().tables
        return table.to_text()

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
    """Put the scores of campaigns, releases and public boards in order of days.

    Parameters
    ----------
    sources
        Folders of campaigns, folders of releases, and tables of boards (CSV and other files with
        named columns); patterns such as `releases/*`.
    measure
        A measure, such as `nDCG@10`; of tables the column that is called so, or the only one whose
        name begins so.
    task
        Of campaigns with several tasks.
    standardised
        Compare scores of different collections, standardised by the runs of each campaign
        (:func:`cranfield.significance.standardise`), which needs scores by topic: tables have none.
    columns
        What columns of tables are called where that is not found: `score`, `date`, `entry`, `team`,
        `mark`.
    own
        Marks of the organisers' own entries, in the column `mark`.
    lower_is_better
        Whether a low score is the good one; of measures of campaigns and releases it is known.
    retracted
        Whether releases count that are retracted, by the note beside them.

    Returns
    -------
    History
        Its :meth:`~History.records` are the entries that beat all earlier ones. Entries without a
        score are left out, and counted.

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
    asked = Asked(measure, task, standardised, columns or {}, tuple(own), retracted)
    unknown = [
        one for one in asked.columns if one not in ("score", "date", "entry", "team", "mark")
    ]
    if unknown:
        raise PolicyError(f"there is no column {quoted(unknown[0])} of a history")
    listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
    if not listed:
        raise PolicyError("no source is given")
    every = pl.concat(entries_of(one, asked) for one in listed)
    given = {"task": task is not None, "columns": bool(columns), "own": tuple(own) != OWN}
    for name, is_given in given.items():
        if is_given and name not in asked.used:
            sources_with = {"task": "campaigns and releases", "columns": "tables"}
            needs = sources_with.get(name, "tables with a column of marks")
            raise PolicyError(f"{name} is for {needs}, and no source is one")
    collections = every["collection"].unique(maintain_order=True).to_list()
    if len(collections) > 1 and not standardised:
        names = some_of(map(quoted, collections), 3)
        raise PolicyError(
            f"scores are of {len(collections)} collections ({names}),"
            " which differ in how hard they are: compare them standardised, or one at a time"
        )
    scored = every.filter(pl.col("score").is_not_null())
    notes = []
    if scored.height < every.height:
        left = every.height - scored.height
        notes.append(f"{left:,} of {every.height:,} entries without a score left out")
    if standardised and len(collections) > 1:
        notes.append(REFERENCES)
    falls = lower_is_better or bool(every["falls"].any())
    if falls:
        notes.append(f"lower scores of {measure} are better")
    frame = with_records(scored, falls)
    return History(measure, standardised, frame, tuple(notes), tuple(asked.unreadable))


def with_records(entries: pl.DataFrame, lower_is_better: bool = False) -> pl.DataFrame:
    """Return entries in order of days, with a column that tells the records."""
    sign = -1.0 if lower_is_better else 1.0
    worth = pl.col("worth")
    # Equal means of other sums, such as 0.1 + 0.2 and 0.3, are no records.
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
