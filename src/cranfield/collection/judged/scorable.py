"""What can be scored: of several systems on several topics, whatever stands in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from cranfield.base.arrays import Floats


class Scorer(Protocol):
    """A measure, as far as what it scores knows of it."""

    def score(self, judged: Any) -> Floats:
        """Return scores of shape (topics, systems)."""


def what_of(judged: object) -> str:
    """Say what something is that was to be scored."""
    return judged.what if isinstance(judged, Scorable) else type(judged).__name__


class Scorable:
    """What a way in makes of its input: judged runs, answers, sessions.

    It has the labels `topics` and `systems`; measures know what else. What it says otherwise than
    here, such as which cells have no score, it overrides. Of runs it is made by
    :func:`cranfield.judge`.
    """

    what: ClassVar[str] = "rankings"
    """What stands in its cells, in messages."""

    if TYPE_CHECKING:

        @property
        def topics(self) -> tuple[str, ...]:
            """Labels of the topics."""

        @property
        def systems(self) -> tuple[str, ...]:
            """Labels of the systems."""

    @property
    def unit(self) -> str:
        """What a topic is here, in a word."""
        return "topic"

    @property
    def max_grade(self) -> int | None:
        """The highest grade there is, which may tell a measure's scale; None without grades."""
        return None

    @property
    def shard_labels(self) -> tuple[str, ...]:
        """Labels of a third axis of scores; empty where there is none."""
        return ()

    def scores_by(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by each measure; NaN for 'no score'."""
        return [measure.score(self) for measure in measures]

    def settings_for(self, measure: Scorer) -> dict[str, Any]:
        """Return how the scores by a measure came about, for the record."""
        return {}


def lowest_relevant(measure: Any) -> int:
    """Return the lowest grade that a measure calls relevant; one around another has that one's."""
    while (inner := getattr(measure, "inner", None)) is not None:
        measure = inner
    low = getattr(measure, "rel", 1)
    return low if isinstance(low, int) else 1
