"""Methods of results for charts and prose, such as `scores.plot.box()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LOADERS: dict[str, Callable[[], Any]] = {}
"""Functions that load the modules of charts, of prose and of the names of measures.

The package sets them: those modules import this module, which therefore cannot import them.
"""


class Plots:
    """Charts of a result, as methods.

    Printing the object lists the charts; editors and notebooks complete the names of charts.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.read_scores({"bm25": {"1": 0.2, "2": 0.4}, "dense": {"1": 0.4, "2": 0.5}})
    >>> scores.plot
    box               A box plot of each system's scores over topics, the best mean first
    differences       A bar for each topic: the score of one system minus that of another
    score-scatter     A point for each topic: the score of one system against that of another
    difficulty        The scores of all systems on all topics as a heat map
    >>> type(scores.plot.box()).__name__
    'LayerChart'
    """

    def __init__(self, result: Any) -> None:
        self._result = result

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        chart: Callable[..., Any] = LOADERS["charts"]().get_chart_function(self._result, name)
        return chart

    def __dir__(self) -> list[str]:
        return [*LOADERS["charts"]().list_chart_names(self._result)]

    def __repr__(self) -> str:
        text: str = LOADERS["charts"]().format_chart_list(self._result)
        return text


class PlotsMixin:
    """Base class of results with charts."""

    @property
    def plot(self) -> Plots:
        """The charts of the result, such as `plot.box()`; `print(result.plot)` lists them."""
        return Plots(self)


class ProseMixin:
    """Base class of results with a description in prose."""

    def prose(self, format: str = "text", margin: float | str | None = None) -> str:
        """Return a paragraph for a paper: design, test, result, effect sizes and assumptions.

        Estimates and their intervals are rounded to the precision of the intervals.

        Parameters
        ----------
        format
            `text`, `markdown` or `latex`; LaTeX cites by the keys of :func:`cranfield.cite`.
        margin
            Margin of equivalence or non-inferiority to report in addition, as for `equivalence`.

        Raises
        ------
        PolicyError
            For an unknown format, or an invalid margin.

        Examples
        --------
        >>> import cranfield as cf
        >>> scores = {"old": [0.2, 0.4, 0.3, 0.5], "new": [0.4, 0.5, 0.5, 0.6]}
        >>> comparison = cf.compare(scores, test="t")
        >>> print(comparison.prose())  # doctest: +ELLIPSIS
        old was compared with new by their scores on 4 topics. The test was the paired t-test ...
        """
        text: str = LOADERS["prose"]().write_prose(self, format, margin)
        return text
