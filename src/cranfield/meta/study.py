"""What a study is: a result with its name, its source, its frames and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cranfield.base.showing import Plotted
from cranfield.tabular import Table, frame_html, from_frame, number

if TYPE_CHECKING:
    import polars as pl

STUDIES = {
    "scales": "ScaleStudy",
    "tests": "SplitStudy",
    "false-alarms": "FalseAlarms",
    "power-of-tests": "PowerOfTests",
    "discriminative-power": "DiscriminativePower",
    "swaps": "Swaps",
    "pool-depth": "PoolDepths",
    "pooling": "Pooling",
    "leave-one-out": "LeaveOneOut",
    "predictive-power": "PredictivePower",
    "concordance": "Concordance",
    "innate-orders": "InnateOrders",
    "stability": "Stability",
    "generalizability": "Generalizability",
    "facets": "Facets",
    "reproduction": "Reproduction",
    "correlations": "Correlations",
    "extrapolation": "Extrapolation",
    "interleaving": "Sensitivity",
}
"""The studies that there are: by name, the class of their result in :mod:`cranfield.meta`."""

FEW = 10
"""Rows that are shown of tables of teams and systems; the data frames have all."""


class Study(Plotted):
    """What a study found; the results of all studies are frozen dataclasses of this class.

    A class of results is declared with its `name`, its `source` as :func:`cranfield.cite` reads it,
    the `keys` of its frames (by the name of a frame, the columns that say what a row is of), and
    its `main` frame, an attribute or a method, which stands for it in a notebook.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    keys: ClassVar[Mapping[str, tuple[str, ...]]]
    _main: ClassVar[str]

    def __init_subclass__(
        cls, *, name: str, source: str, keys: Mapping[str, tuple[str, ...]], main: str
    ) -> None:
        cls.name, cls.source, cls.keys, cls._main = name, source, keys, main

    @property
    def verdict(self) -> tuple[str, ...]:
        """What was found, in two or three sentences: what won, how sure that is, on what it rests.

        Empty where a study has no winner to name.
        """
        return ()

    def heading(self) -> list[str]:
        """Return lines on what was done."""
        return []

    def tables(self) -> list[Table]:
        """Return what people read."""
        raise NotImplementedError

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return what programs read: tables by name, those that there are of :attr:`keys`."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """Return options and sizes, as JSON can hold them."""
        return {}

    @classmethod
    def side_by_side(cls, studies: Sequence[Self]) -> list[Table]:
        """Return the tables of several studies of this kind."""
        return [table for study in studies for table in study.tables()]

    def _notes(self) -> list[str]:
        """Return what was left out, filled in, or else should be known, a line each."""
        label = labelled(getattr(self, "measure", ""))
        return [f"note: {label}{note}" for note in getattr(self, "notes", ())]

    def _chosen(self, *names: str) -> dict[str, Any]:
        """Return attributes by name."""
        return {name: getattr(self, name) for name in names}

    def _repr_html_(self) -> str:
        main = getattr(self, self._main)
        return frame_html(main() if callable(main) else main, repr(self))


def result_of(name: str) -> type[Study]:
    """Return the class of the result of a study of :data:`STUDIES`."""
    kind: type[Study] = getattr(import_module("cranfield.meta"), STUDIES[name])
    return kind


@dataclass(frozen=True)
class Findings:
    """What one study has to say, or several together, as :class:`Study` has it.

    With a frame stand the names of its columns that say what a row is of. The verdict is a sentence
    or several of each study. `first` are the tables that people read first, one of each kind of
    study.
    """

    heading: Sequence[str]
    tables: Sequence[Table]
    frames: Mapping[str, tuple[pl.DataFrame, Sequence[str]]]
    about: Mapping[str, Any]
    verdict: Sequence[str] = ()
    first: Sequence[Table] = ()


def findings(
    *studies: Study, notes: Iterable[str] = (), each: bool = False, **about: Any
) -> Findings:
    """Put studies together: frames of one name are one, and what was said is not said again.

    With `each`, what they are about is a list of studies; else they are about different things.
    """
    import polars as pl

    heading: list[str] = []
    tables: list[Table] = []
    frames: dict[str, tuple[pl.DataFrame, Sequence[str]]] = {}
    for study in studies:
        lines = [*study.heading(), *study._notes()]
        heading += [line for line in lines if not any(line in known for known in heading)]
        for name, frame in study.frames().items():
            before = [frames[name][0]] if name in frames else []
            frames[name] = pl.concat([*before, frame]), study.keys[name]
    first: list[Table] = []
    for _, group in groupby(studies, type):
        same = list(group)
        shown = same[0].side_by_side(same)
        first += shown[:1]
        tables += shown
    parts = [study.about() for study in studies]
    whole = {"studies": parts} if each else {k: v for part in parts for k, v in part.items()}
    said = [" ".join(study.verdict) for study in studies if study.verdict]
    return Findings([*heading, *notes], tables, frames, {**whole, **about}, said, first)


def labelled(measure: str) -> str:
    """Write the measure before a line, where it has a name."""
    return f"{measure}: " if measure else ""


def attaining(frame: pl.DataFrame, column: str, value: Any, name: str = "measure") -> list[str]:
    """Return the names of all rows with a value, so that ties are named together."""
    return [row[name] for row in frame.iter_rows(named=True) if row[column] == value]


def of_measure(measure: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Put the measure before a table, so that those of several measures can be one."""
    import polars as pl

    return frame.select(pl.lit(measure).alias("measure"), pl.all())


def first_rows(
    frame: pl.DataFrame, title: str, *, left: Sequence[str], places: Mapping[str, int] | int = 4
) -> Table:
    """Show the first rows of a frame, and say how many there are."""
    more = "" if len(frame) <= FEW else f"; {FEW} of {len(frame):,}"
    return from_frame(frame.head(FEW), f"{title}{more}", left=left, places=places)


def percent(share: float | None) -> str:
    """Write a share; none is empty."""
    text = number(None if share is None else 100 * share, 1)
    return f"{text}%" if text else ""


def with_limits(
    row: Mapping[str, Any], name: str, places: int, of_limits: int | None = None
) -> tuple[str, str]:
    """Write a number of a row, and its limits."""
    low, high = (
        number(row[f"{name} {end}"], places if of_limits is None else of_limits)
        for end in ("low", "high")
    )
    return number(row[name], places), f"{low} to {high}" if low else ""
