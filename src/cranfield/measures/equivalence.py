r"""Any measure by equivalence classes of documents: of a class, only the first document counts.

Examples
--------
>>> from dataclasses import replace
>>> import numpy as np
>>> import cranfield as cf
>>> from cranfield.measures.equivalence import by_classes
>>> qrels = cf.read_qrels({"q": {"aaa": 3, "bbb": 1}})
>>> qrels = replace(qrels, columns={"class": np.array(["1", "1"])})
>>> found = cf.evaluate({"q": {"bbb": 2, "aaa": 1}}, qrels, ["AP", by_classes("AP"), "EC(Q)"])
>>> {str(one): float(found[one].values[0, 0]) for one in found}
{'AP': 1.0, 'EC(AP)': 1.0, 'EC(Q)': 0.5}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from cranfield.collection.classes import by_class
from cranfield.collection.judged import JudgedRuns
from cranfield.errors import MeasureError
from cranfield.measures.base import Floats, Measure
from cranfield.measures.grammar import parse_measure, wrapper
from cranfield.scale import Scale

_NEEDS = "equivalence classes of documents (column `class`)"


class ByClasses(Measure):
    """A measure of judged runs by equivalence classes; made by :func:`by_classes`.

    Attributes
    ----------
    inner
        The measure.
    """

    inner: Measure

    def __init__(self, inner: Measure) -> None:
        if isinstance(inner, ByClasses):
            raise MeasureError(f"{inner} is a measure by equivalence classes already")
        vars(self).update(inner=inner, cutoff=inner.cutoff, judged_only=inner.judged_only)
        # What it declares depends on the measure inside.
        vars(self)["info"] = replace(
            inner.info,
            name="EC",
            aliases=(),
            summary=f"{inner}, where of each equivalence class the first document counts.",
            source=f"Sakai (2007), as in NTCIREVAL; {inner.info.source}",
            needs="; ".join(
                filter(
                    None, ["equivalence classes of documents (column `class`)", inner.info.needs]
                )
            ),
            elsewhere={"NTCIREVAL": "option -ec"},
        )

    @property
    def scale(self) -> Scale:
        """The scale of the measure inside."""
        return self.inner.scale

    def score(self, judged: JudgedRuns) -> Floats:
        """Score every ranking by classes."""
        return self.inner.score(by_class(judged, str(self)))

    def require_complete(self) -> None:
        """Refuse a measure that still lacks what has to stand behind its @."""
        self.inner.require_complete()

    def __matmul__(self, at: Any) -> Self:
        return type(self)(self.inner @ at)

    def __call__(self, /, **parameters: Any) -> Self:
        """Return the measure with other parameters of the one inside."""
        return type(self)(self.inner(**parameters))

    def __str__(self) -> str:
        return f"EC({self.inner})"

    __repr__ = __str__


@wrapper("EC")
def by_classes(measure: Measure | str) -> Measure:
    r"""Make the version of a measure by equivalence classes.

    Of the documents of a class, which say the same thing, the first that is retrieved counts, with
    its own grade; later ones are judged and not relevant. The recall base is the number of classes
    with a relevant document, and the ideal ranking has the highest grade of each.

    Parameters
    ----------
    measure
        A measure, or its text.

    Returns
    -------
    Measure
        A measure like any other, with the text form `EC(Q@10)`.

    Raises
    ------
    MeasureError
        For what is no measure; when it scores, for judgments without a column `class`.

    Examples
    --------
    >>> by_classes("Q") @ 10
    EC(Q@10)
    """
    # A measure that lacks its cutoff yet may still get it.
    return ByClasses(measure if isinstance(measure, Measure) else parse_measure(measure))
