"""The data sets of the benchmarks and where their files lie.

Deliberately free of NumPy: the process that measures imports this module, and its own memory is
a floor under every peak it can see (see `process.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

DEFAULT_FOLDER = HERE / "data"


@dataclass(frozen=True)
class Judgments:
    """Relevance judgments, which several data sets may share.

    Attributes
    ----------
    name
        The name of their folder.
    topics
        How many topics are judged.
    judged
        How many documents are judged per topic, on average.
    relevant
        How many of these are relevant, on average.
    """

    name: str
    topics: int
    judged: float
    relevant: float
    seed: int

    def path(self, root: Path) -> Path:
        return root / self.name / "qrels.txt"


@dataclass(frozen=True)
class DataSet:
    """Runs of one shape on one set of judgments.

    Attributes
    ----------
    runs
        How many runs, one file each.
    depth
        How many documents each run retrieves per topic.
    source
        For a variant: the data set whose lines it holds in another form.
    variant
        Which form, a key of `VARIANTS`; empty for generated runs.
    """

    name: str
    judgments: Judgments
    runs: int
    depth: int
    seed: int
    source: str = ""
    variant: str = ""

    @property
    def lines(self) -> int:
        return self.runs * self.judgments.topics * self.depth

    @property
    def title(self) -> str:
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        return f"{runs} of {self.judgments.topics:,} topics x {self.depth:,} documents"

    def tag(self, number: int) -> str:
        """Return the name of a run: its tag and, so that any reader agrees, its file's stem."""
        return f"{(self.source or self.name).lower()}{number:03d}"

    def folder(self, root: Path) -> Path:
        return root / self.name

    def run_path(self, root: Path, number: int) -> Path:
        suffix = f".{self.variant}" if self.variant in ARCHIVES else ""
        return self.folder(root) / f"{self.tag(number)}.run{suffix}"

    def run_paths(self, root: Path) -> list[Path]:
        return [self.run_path(root, number) for number in range(self.runs)]


TREC = Judgments("trec", topics=50, judged=1737, relevant=95, seed=8)
"""Like the ad hoc task of TREC-8: deep pools, newswire documents, topics 401 to 450."""

MSMARCO = Judgments("msmarco", topics=6980, judged=1.07, relevant=1.07, seed=19)
"""Like the small development set of MS MARCO: many queries, hardly more than one answer each."""

_GENERATED = (
    DataSet("A", TREC, runs=1, depth=1000, seed=1),
    DataSet("C", TREC, runs=129, depth=1000, seed=3),
    DataSet("D", MSMARCO, runs=1, depth=1000, seed=4),
    DataSet("E", TREC, runs=20, depth=10_000, seed=5),
)

ARCHIVES = ("gz", "zst", "xz")

VARIANTS = {
    "shuffled": ("C", "D"),
    "blanks": ("C", "D"),
    "ties": ("A", "C", "D", "E"),
    **dict.fromkeys(ARCHIVES, ("D",)),
}
"""Other forms of the same lines, and of which data sets there are such."""

_VARIANTS = tuple(
    DataSet(
        f"{source.name}-{variant}",
        source.judgments,
        source.runs,
        source.depth,
        source.seed + 100 * number,
        source=source.name,
        variant=variant,
    )
    for source in _GENERATED
    for number, (variant, sources) in enumerate(VARIANTS.items(), start=1)
    if source.name in sources
)

DATA_SETS = {data.name: data for data in _GENERATED + _VARIANTS}
"""All data sets by name, a variant after its source."""


def variants_of(name: str, forms: Collection[str]) -> list[DataSet]:
    return [data for data in _VARIANTS if data.source == name and data.variant in forms]
