"""Collections that come with the package: judgments and submitted runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.collection.files.many_runs import Runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels

__all__ = ["Collection", "trec_covid"]

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Judgments and runs, with their origin and official results.

    Attributes
    ----------
    name
        Name of the collection.
    qrels
        The judgments.
    runs
        The runs.
    about
        Origin, licence and reference; its key `runs` has the tag, team, type and official results
        of each run.
    """

    name: str
    qrels: Qrels
    runs: Runs
    about: dict[str, Any]

    @property
    def teams(self) -> dict[str, str]:
        """The team of each system."""
        return {run["tag"]: run["team"] for run in self.about["runs"]}

    @property
    def types(self) -> dict[str, str]:
        """The type of each system's run: automatic, feedback or manual."""
        return {run["tag"]: run["type"] for run in self.about["runs"]}

    def __repr__(self) -> str:
        return f"Collection({self.name}: {len(self.runs)} runs, {self.qrels!r})"


@cache
def trec_covid() -> Collection:
    """Return TREC-COVID round 5: 50 topics, 23,151 judgments, the top 100 of 40 runs of 28 teams.

    Scores of documents are those of the submitted runs, in 32-bit floats. The attribute `about`
    names the source, the public archive of NIST.

    Returns
    -------
    Collection
        The same object in each call.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> covid
    Collection(TREC-COVID round 5: 40 runs, Qrels(50 topics, 23,151 judgments, grades -1 to 2))
    >>> ev = cf.evaluate(covid.runs[:2], covid.qrels, "nDCG@20")
    >>> ev.by_system().rows()
    [('UPrrf93-wt-r5', 0.8495...), ('UPrrf102-wt-r5', 0.8489...)]
    """
    path = _DATA / "trec_covid.parquet"
    about = json.loads(pl.read_parquet_metadata(path)["cranfield"])
    table = pl.read_parquet(path)
    rankings = {
        tag: rows.select("topic", "doc", "score")
        for (tag,), rows in table.drop_nulls("run").partition_by("run", as_dict=True).items()
    }
    runs = Runs([(run["tag"], rankings[run["tag"]]) for run in about["runs"]])
    qrels = read_qrels(table.filter(pl.col("run").is_null()).select("topic", "doc", "grade"))
    return Collection(about["name"], qrels, runs, about)


def __dir__() -> list[str]:
    return list(__all__)
