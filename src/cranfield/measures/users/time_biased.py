r"""Time-biased gain: what a document is worth falls with the time that it takes to get there."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import measure
from cranfield.measures.parameters import number, optional, parameter
from cranfield.measures.users.model import UserModel
from cranfield.measures.users.page import Page, filled

_CHANCE = number(0, 1)
_TIME = number(0, 1e6)
LENGTH = number(0, 1e15)


@measure(
    "TBG",
    summary="Gain that falls by half every h seconds, over the time to read what stands above.",
    formula=r"\sum_r g(r) \, e^{-T(r) \ln 2 / h}, \quad"
    r" T(r) = \sum_{k<r} \left( T_S + \Pr_{click}(k) \, (a L(k) + b) \right)",
    source="Smucker and Clarke (2012); Sakai (2013), equations (17) and (18)",
    range=(0.0, float("inf")),
    family="user models",
    inputs=("lengths",),
    needs="the lengths of all retrieved documents, in words",
    elsewhere={"cwl_eval": "TBG-H@h is a rate: EU(TBG) by click times save"},
)
class TimeBiasedGain(UserModel):
    r"""Time-biased gain, with the values that Smucker and Clarke (2012) calibrated.

    A relevant document gains the chance to click on its summary times that to find it relevant
    then, .64 * .77 = .4928; others gain nothing. Users read all summaries; the documents, each
    with the chance of a click, at 0.018 seconds a word and 7.8 more. Unjudged documents are
    clicked on as those not relevant. With gains other than binary ones, which Smucker and Clarke
    do not have, that of a document is .4928 times its gain.

    TBG is the total utility of its user, `ETU(TBG)`, and its costs are seconds: `ETC(TBG)`, to
    which summaries are added where a list is shorter than the ranks that are read.

    Examples
    --------
    >>> import cranfield as cf
    >>> run, words = {"q": {"a": 2, "b": 1}}, {"a": 1000, "b": 500}
    >>> cf.evaluate(run, {"q": {"b": 1}}, "TBG", lengths=words).by_system().rows()
    [('run', 0.471...)]
    """

    h: float = parameter(224.0, number(0, 1e9, open_low=True), "half-life of gains, in seconds")
    summary: float = parameter(4.4, _TIME, "seconds to read a summary (T_S)")
    click: float = parameter(
        0.64, number(0, 1, open_low=True), "chance to click on a relevant document"
    )
    click_other: float = parameter(0.39, _CHANCE, "chance to click on another document")
    save: float = parameter(
        0.77, number(0, 1, open_low=True), "chance that a clicked relevant document is found so"
    )
    a: float = parameter(0.018, _TIME, "seconds to read a word")
    b: float = parameter(7.8, _TIME, "seconds for a document besides its words")
    unit: float = parameter(1.0, LENGTH, "words in a unit of length")
    missing: float | None = parameter(
        None, optional(LENGTH), "length to take for documents without a known one"
    )

    @property
    def reads_lengths(self) -> bool:
        return True

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return self.click * self.save * super().worth(judged, rows)

    def most(self, judged: JudgedRuns) -> float:
        return self.click * self.save

    def costs(self, page: Page) -> Floats:
        """Seconds for each rank; beyond the list, those for a summary."""
        click = np.where(page.gains > 0, self.click, self.click_other)
        reading = self.a * self.unit * filled(page, self.missing) + self.b
        return self.summary + np.where(page.listed, click * reading, 0.0)

    def continuation(self, page: Page) -> Floats:
        return np.asarray(np.exp2(-page.costs / self.h))

    def values(self, judged: JudgedRuns) -> Floats:
        # What stands below the lists gains nothing.
        return self.expected(judged, depth=max(int(judged.retrieved.max(initial=0)), 1)).total
