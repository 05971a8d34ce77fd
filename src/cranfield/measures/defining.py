"""Measures of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import numbers
from cranfield.base.errors import MeasureError, quoted, warn
from cranfield.base.scale_types import Scale, find_scale
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Measure, measure
from cranfield.scores.direction import direction_note, suggests_lower


def define(
    name: str,
    function: Callable[[JudgedRuns], Any],
    *,
    summary: str = "",
    range: tuple[float, float] = (0.0, 1.0),
    lower_is_better: bool | None = None,
    aggregate: str = "mean",
    source: str = "user-defined",
    scale: Scale | str | None = None,
) -> Measure:
    """Define a measure of your own; its name then works wherever a measure can be named.

    So do `@` and `judged_only`, as for any other.

    Parameters
    ----------
    name
        An identifier that no measure has yet.
    function
        Takes the judged runs, cut off and condensed as asked for, and returns scores of shape
        (topics, systems).
    lower_is_better
        Whether lower scores are better. By default they are not, with a warning if the name
        suggests it.
    summary, range, aggregate, source
        What :class:`Info` says of it.
    scale
        The measurement scale of its scores, if you declare one: `nominal`, `ordinal`, `interval` or
        `ratio`. By default it is ordinal.

    Raises
    ------
    MeasureError
        For a name that is taken or is no identifier.

    Examples
    --------
    >>> import cranfield as cf
    >>> last = cf.define("LastRelevant", lambda judged: judged.relevant().largest(
    ...     judged.relevant().rank), range=(0, float("inf")))
    >>> cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["LastRelevant"]).means()["run"][0]
    2.0
    """
    if not name.isidentifier():
        raise MeasureError(f"{quoted(name)} is no name for a measure: letters, digits and _ are")
    texts = (name, summary, aggregate, source)
    if not all(isinstance(one, str) for one in texts):
        raise MeasureError("name, summary, aggregate and source of a measure are texts")
    bounds = numbers(range, "the lowest and the highest score")
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise MeasureError(f"the range of a measure is two numbers, not {quoted(range)}")

    if lower_is_better is None and suggests_lower(name):
        warn(direction_note(name), stacklevel=2)

    class Defined(Measure):
        def values(self, judged: JudgedRuns) -> Floats:
            scores = np.asarray(function(judged), dtype=np.float64)
            if scores.shape != judged.shape:
                raise MeasureError(
                    f"{name} gave scores of shape {scores.shape}, not {judged.shape}"
                )
            return scores

    Defined.__doc__ = summary
    if scale is not None:
        Defined.scale_source = "user"
    about = {
        "summary": summary,
        "range": (float(bounds[0]), float(bounds[1])),
        "lower_is_better": bool(lower_is_better),
        "aggregate": aggregate,
        "source": source,
        "scale": Scale.ORDINAL if scale is None else find_scale(scale),
    }
    return measure(name, family="user-defined", **about)(Defined)()
