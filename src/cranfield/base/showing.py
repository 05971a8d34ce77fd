"""What is found at a result: charts, `scores.plot.box()`, a paragraph, names that are near."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.base.border import explained
from cranfield.base.words import did_you_mean

CATALOGUE = "cranfield.reporting.charts.catalogue"
"""Where charts are declared; it is loaded only when a chart is asked for."""

PARAGRAPH = "cranfield.reporting.prose.paragraph"
"""Where paragraphs are written; loaded only when one is asked for."""


class Plots:
    """The charts that can be drawn of a result, each a method.

    Printed, it lists them; editors and notebooks complete their names.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.read_scores({"bm25": {"1": 0.2, "2": 0.4}, "dense": {"1": 0.4, "2": 0.5}})
    >>> scores.plot
    box               Scores of each system over topics: quartiles, median, mean, and scores far out
    difficulty        How hard topics are, and for whom: scores of all systems on all topics
    differences       Two systems: the difference on each topic, sorted
    score-scatter     Two systems: the scores on each topic against each other
    >>> type(scores.plot.box()).__name__
    'LayerChart'
    """

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        found: Callable[..., Any] = import_module(CATALOGUE).drawing(self._thing, name)
        return explained(found, f"plot.{name}")

    def __dir__(self) -> list[str]:
        return [*import_module(CATALOGUE).names_of(self._thing)]

    def __repr__(self) -> str:
        text: str = import_module(CATALOGUE).listed(self._thing)
        return text


class Hinting:
    """Something that names what it has where it is asked for what it has not.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.Scores([[0.5]], ["q"], ["a"]).means()
    Traceback (most recent call last):
    AttributeError: 'Scores' object has no attribute 'means'; did you mean mean()?
    """

    # For type checkers, what it has not is not there.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            # Protocols ask for private names, often, and go on without. What has failed, such as a
            # property, says why once more.
            if name.startswith("_") or hasattr(kind, name):
                return object.__getattribute__(self, name)
            said = f"{kind.__name__!r} object has no attribute {name!r}"
            there = [one for one in dir(self) if not one.startswith("_")]
            hint = did_you_mean(
                name, there, 1, shown=lambda one: one + "()" * callable(getattr(kind, one, None))
            )
            raise AttributeError(f"{said}{hint}")


class Plotted(Hinting):
    """Something that charts can be drawn of."""

    @property
    def plot(self) -> Plots:
        """The charts of this, such as `plot.box()`; printed, it lists them."""
        return Plots(self)


class Told:
    """A result that can be told as a paragraph."""

    def prose(self, format: str = "text", margin: float | str | None = None) -> str:
        """Return a paragraph for a paper: design, test, result, effect sizes, what it rests on.

        Numbers are rounded to what their intervals support.

        Parameters
        ----------
        format
            `text`, `markdown` or `latex`; LaTeX cites by the keys of :func:`cranfield.cite`.
        margin
            Also say what is equivalent or no worse within this margin, as for `equivalence`.

        Raises
        ------
        PolicyError
            For another format, or a margin that is none.

        Examples
        --------
        >>> import cranfield as cf
        >>> found = cf.compare({"old": [0.2, 0.4, 0.3, 0.5], "new": [0.4, 0.5, 0.5, 0.6]}, test="t")
        >>> print(found.prose())  # doctest: +ELLIPSIS
        old was compared with new by their scores on 4 topics. The test was the paired t-test ...
        """
        text: str = import_module(PARAGRAPH).prose(self, format, margin)
        return text
