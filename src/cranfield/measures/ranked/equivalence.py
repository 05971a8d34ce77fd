r"""Any measure by equivalence classes of documents: of a class, only the first document counts."""

from __future__ import annotations

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.collection.judged.equivalence_classes import by_class
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Measure
from cranfield.measures.wrapping import Wrapping, wrapping


@wrapping(
    "Classes",
    summary="A measure where of each equivalence class only the first document counts.",
    formula=r"M \text{ with } g_r = 0 \text{ where the class of } r \text{ was seen above}",
    source="Sakai (2007b)",
    family="equivalence classes",
    inputs=("columns",),
    needs="equivalence classes of documents (column `class`)",
    elsewhere={"NTCIREVAL": "option -ec", "in the papers": "EC-Q is Classes(Q)"},
)
class ByClasses(Wrapping):
    """The version of a measure by equivalence classes.

    Of the documents of a class, which say the same thing, the first that is retrieved counts, with
    its own grade; later ones are judged and not relevant. The recall base is the number of classes
    with a relevant document, and the ideal ranking has the highest grade of each.
    """

    def check(self, inner: Measure) -> None:
        if isinstance(inner, ByClasses):
            raise MeasureError(f"{inner} is a measure by equivalence classes already")

    @property
    def scale(self) -> Scale:
        return self.inner.scale

    def scale_with(self, highest: int) -> Scale:
        return self.inner.scale_with(highest)

    def values(self, judged: JudgedRuns) -> Floats:
        return self.inner.score(by_class(judged, str(self)))
