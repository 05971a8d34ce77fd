"""On which scale is a measure, for runs of one length on one topic, and what that admits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cranfield.base.errors import CranfieldError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import beyond_length
from cranfield.scales.images.making import image
from cranfield.scales.images.values import Image
from cranfield.scales.runs import as_measure, depends_on_recall_base
from cranfield.scales.statements.admissible import admitted_statistics, admitted_tests
from cranfield.scales.verdicts.deciding import against_total_orders, own_verdict, searched_verdicts
from cranfield.scales.verdicts.run_set import run_set
from cranfield.scales.verdicts.verdicts import ScaleReport


def scale_of(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> ScaleReport:
    """Find the scale that a measure is on, and runs that show why it is not on a higher one.

    Parameters
    ----------
    measure
        The measure, or its text. One that needs a cutoff and has none gets the length.
    length, grades
        Length N of the runs, by default the measure's cutoff, and the highest grade c of 0..c.
    judgments
        The topic's documents: their grades, or the number of relevant ones. Only runs that can be
        retrieved from them are looked at, and they are the set whose neighbours are compared. By
        default N documents of the highest grade are judged and every run can be.

    Returns
    -------
    ScaleReport
        For the measure's own order it is interval when its values are equally spaced (Ferrante,
        Ferro and Fuhr, 2021, sections 2.2.3 and 3.2), else ordinal. For a total order it is
        ordinal when it orders all pairs of runs in the same way, and interval when it is also a
        positive affine function of the rank in that order (Ferrante, Ferro and Pontarollo, 2019,
        sections 2, 4 and 5).

    Raises
    ------
    PolicyError
        Without a length, or with a length, a grade or a recall base below 1 or out of reach.
    MeasureError
        For a measure that cannot score such runs.

    Notes
    -----
    All runs are looked at while there are up to 2^18 of them. Beyond that additive measures (P, R,
    F, gP, gR, RBP, DCG, nDCG) are decided by the steps between neighbours, other known ones by the
    bottom of the partial order and by witnesses; what is still open is said to be so.

    Examples
    --------
    >>> from cranfield.measures import AP, RBP
    >>> print(scale_of(RBP(p=0.5), 3).rank_based)
    rank-based total order: interval
    >>> print(scale_of(AP, 4).own)
    its own order: ordinal; not interval: the step from 0 to 1/16, for (0, 0, 0, 0) and
    (0, 0, 0, 1), is 1/16; the step from 1/16 to 1/12, for (0, 0, 0, 1) and (0, 0, 1, 0), is 1/48
    """
    asked = run_set(measure, length, grades, judgments)
    about = (asked.measure.label, asked.length, asked.grades, asked.stated)
    if asked.can_be_listed(asked.length):
        runs = asked.listed(asked.length)
        values = asked.values(runs)
        set_based, rank_based = against_total_orders(asked, values, runs)
        own, count, exact = own_verdict(values, runs), len(runs), values.exact
    else:
        form = asked.form()
        own, set_based, rank_based = searched_verdicts(asked, form)
        count, exact = asked.count(), form is not None
    return ScaleReport(*about, count, own, set_based, rank_based, exact)


@dataclass(frozen=True, eq=False)
class ScaleFacts:
    """What there is to know of the scale of a measure, and what that scale admits.

    There is no image where it is beyond reach, and `refused` says why. With `by_topic` values
    depend on the recall base, so that each topic has a scale of its own. If scores of runs of other
    lengths depend on more than grades, `beyond_length` says on what: image and scale hold for runs
    of exactly this length, and there is no interval-scaled version of the measure.
    """

    report: ScaleReport
    image: Image | None
    refused: str
    by_topic: bool
    beyond_length: str
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
        beyond_length(measure),
        admitted_statistics(report.scale),
        admitted_tests(report.scale),
    )
