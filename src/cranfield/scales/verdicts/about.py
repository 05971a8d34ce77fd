"""All about the scale of one measure: its image, its scale, and what that admits."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.base.errors import CranfieldError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure
from cranfield.scales.images.making import image
from cranfield.scales.images.values import Image
from cranfield.scales.runs import as_measure, depends_on_recall_base
from cranfield.scales.statements.admissible import admitted_statistics, admitted_tests
from cranfield.scales.verdicts.scale_of import scale_of
from cranfield.scales.verdicts.verdicts import ScaleReport


@dataclass(frozen=True, eq=False)
class ScaleFacts:
    """What there is to know of the scale of a measure, and what that scale admits.

    There is no image where it is beyond reach, and `refused` says why. With `by_topic` values
    depend on the recall base, so that each topic has a scale of its own.
    """

    report: ScaleReport
    image: Image | None
    refused: str
    by_topic: bool
    statistics: list[str]
    tests: list[str]

    @property
    def scale(self) -> Scale:
        """The scale for the measure's own order, on one topic."""
        return self.report.scale


def about_scale(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: int | None = None,
) -> ScaleFacts:
    """Find the image and the scale of a measure; of an image beyond reach the reason why."""
    measure = as_measure(measure, length)
    report = scale_of(measure, length, grades, judgments=judgments)
    found, refused = None, ""
    try:
        found = image(measure, length, grades, judgments=judgments, at_most=judgments)
        _ = found.size
    except CranfieldError as error:
        found, refused = None, str(error)
    return ScaleFacts(
        report,
        found,
        refused,
        depends_on_recall_base(measure),
        admitted_statistics(report.scale),
        admitted_tests(report.scale),
    )
