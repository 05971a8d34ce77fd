"""What has an image: measures whose value the grades of a run decide, by rank, and nothing else.

What else decides is said in words, before anything is computed. `beyond_grades` is about runs of
one length, all of whose documents are judged: images and scales. `beyond_length` adds what is
undone when shorter rankings are padded, as :func:`cranfield.scales.interval_scaled` does.
"""

from __future__ import annotations

from cranfield.base.errors import MeasureError
from cranfield.measures import Measure
from cranfield.measures.users.expectation import Expectation
from cranfield.measures.users.model import LAST, StaticModel, UserModel

INPUTS = {
    "intents": "the subtopics of documents",
    "lengths": "the lengths of documents",
    "groups": "groups of documents",
    "aspects": "judgments on other aspects",
    "columns": "other columns of the judgments",
    "queries": "the queries of a session",
    "clicks": "clicks of users",
}
"""What `inputs` of a measure stand for."""

HINT = "measures of the grades by rank have one, such as nDCG@10"


def of_documents(measure: Measure) -> Measure:
    """Return the measure that looks at documents: the one inside, of what users can expect."""
    return measure.inner if isinstance(measure, Expectation) else measure


def lowest_relevant(measure: Measure) -> int:
    """Lowest grade that counts as relevant."""
    return int(getattr(of_documents(measure), "rel", 1))


def beyond_grades(measure: Measure) -> str:
    """Say what a measure depends on besides the grades of a run; nothing if there is nothing."""
    if measure.info.beyond_grades:
        return measure.info.beyond_grades
    if measure.info.inputs:
        return " and ".join(INPUTS.get(one, one) for one in measure.info.inputs)
    inner = of_documents(measure)
    by_length = isinstance(measure, Expectation) and measure.unit is not None
    if by_length or (isinstance(inner, UserModel) and inner.reads_lengths):
        return INPUTS["lengths"]
    kind = getattr(getattr(inner, "gains", None), "kind", "linear")
    if getattr(inner, "max_grade", None) == "topic" and kind != "binary":
        return "the highest grade of the topic"
    return ""


def beyond_length(measure: Measure) -> str:
    """Say what the order of padded rankings depends on besides their grades."""
    return beyond_grades(measure) or measure.beyond_length


def check_grades_decide(measure: Measure) -> None:
    """Refuse a measure whose value the grades of a run do not decide."""
    why = beyond_grades(measure)
    if why:
        raise MeasureError(
            f"{measure} depends on more than the grades by rank: {why}; nothing can be said of its"
            f" scale, and there is no image; {HINT}"
        )


def reads_many_ranks(measure: Measure) -> int | None:
    """Ranks that are laid out to score a run of a user model without sums of its own."""
    model = measure.model if isinstance(measure, Expectation) else measure
    if not isinstance(model, UserModel) or isinstance(model, StaticModel):
        return None
    return model.ranks(measure.depth if isinstance(measure, Expectation) else None) or LAST
