r"""Documents whose worth falls with the time, or the text, to get there: TBG and U."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.gains import MAX_GRADE, Gain, highest_of, no_loss
from cranfield.measures.parameters import POSITIVE_SHARE, number, optional, parameter
from cranfield.measures.ranked.precision import REL, REL_DOC
from cranfield.measures.users.model import UserModel
from cranfield.measures.users.page import Page, filled

_CHANCE = number(0, 1)
_TIME = number(0, 1e6)
LENGTH = number(0, 1e15)


@measure(
    "TBG",
    summary="Gain that falls by half every h seconds, over the time to read what stands above.",
    formula=r"\Pr_{click} \Pr_{save} \sum_r g_r \, e^{-T(r) \ln 2 / h}, \quad"
    r" T(r) = \sum_{k<r} \left( T_S + \Pr_{click}(k) \, (a L(k) + b) \right)",
    source="Smucker and Clarke (2012)",
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
    click: float = parameter(0.64, POSITIVE_SHARE, "chance to click on a relevant document")
    click_other: float = parameter(0.39, _CHANCE, "chance to click on another document")
    save: float = parameter(
        0.77, POSITIVE_SHARE, "chance that a clicked relevant document is found so"
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


@measure(
    "U",
    summary="Gain of the text that is read, which falls in a line until L characters are read.",
    formula=r"\frac{1}{N} \sum_r g(r) \max\left(0, 1 - \frac{pos(r)}{L}\right), \quad"
    r" pos(r) = \sum_{k \le r} \left( |s_k| + [g(k) > 0] \, F \, L(k) \right),"
    r" \quad g(r) = \frac{2^{\mathit{grade}_r} - 1}{2^{\mathit{grade}_{max}}}",
    source="Sakai and Dou (2013)",
    range=(0.0, float("inf")),
    family="user models",
    inputs=("lengths",),
    needs="the lengths of relevant retrieved documents, in characters",
    elsewhere={"cwl_eval": "U-L@L is a rate, and text counts where it begins"},
)
class UMeasure(UserModel):
    r"""The U-measure of a ranked list, read from top to bottom (Sakai 2013, figure 5 (b)).

    The text of the trail is the snippet of each rank and, after that of each relevant document,
    the share F of its text. A document counts at the place where its text ends. Unjudged documents
    are passed over as those that are not relevant, so that only lengths of relevant ones matter.
    Gains are (2^g - 1) / 2^max_grade, with `linear` g / (max_grade + 1), or what a mapping says.
    Scores are not normalised, but for a number N that all are divided by.

    `ETU(U)` is U over the worth of the end of the first text, where the user of the C/W/L
    framework starts; costs are characters.

    Examples
    --------
    >>> import cranfield as cf
    >>> run, characters = {"q": {"a": 2, "b": 1}}, {"b": 5000}
    >>> ev = cf.evaluate(run, {"q": {"b": 1}}, "U(L=2000, gains={1: 1})", lengths=characters)
    >>> ev.by_system().rows()  # 200 + 200 + .2 * 5000 characters
    [('run', 0.3...)]
    """

    rel: int = parameter(1, REL, REL_DOC)
    gains: Gain = parameter(
        Gain("exponential"),
        no_loss,
        "gain of a grade: 'exponential', (2^g - 1) / 2^max_grade; 'linear', g / (max_grade + 1);"
        " or a mapping of grades to gains, in which a grade that is not named has none",
    )
    max_grade: int | None = MAX_GRADE
    L: float = parameter(
        132000.0, number(0, 1e15, open_low=True), "characters after which nothing is worth anything"
    )
    snippet: float = parameter(200.0, LENGTH, "characters of a snippet")
    F: float = parameter(0.2, number(0, 1), "share that is read of a relevant document")
    N: float = parameter(1.0, number(0, 1e15, open_low=True), "what scores are divided by")
    unit: float = parameter(1.0, LENGTH, "characters in a unit of length")
    missing: float | None = parameter(
        None, optional(LENGTH), "length to take for documents without a known one"
    )

    @property
    def reads_lengths(self) -> bool:
        return True

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return self.gain_of(judged, rows.grade) * (rows.grade >= self.rel)

    def gain_of(self, judged: JudgedRuns, grades: Any) -> Floats:
        """Gain of grades on the scale of the judgments; that of an intent, in D-U."""
        return self._share(judged) * self._of(grades)

    def most(self, judged: JudgedRuns) -> float:
        grades = self.gains.telling(highest_of(judged, self.max_grade, str(self)))
        return float(self._share(judged) * self._of(grades).max())

    def _of(self, grades: Any) -> Floats:
        by_word = isinstance(self.gains.kind, str)
        return np.asarray((self.gains.of if by_word else self.gains.named)(grades))

    def _share(self, judged: JudgedRuns) -> float:
        if self.gains.kind not in {"exponential", "linear"}:
            return 1.0
        top = highest_of(judged, self.max_grade, str(self))
        return 1.0 / (float(self.gains.of(np.array([top]))[0]) + 1.0)

    def costs(self, page: Page) -> Floats:
        """Characters of each rank; beyond the list, those of a snippet."""
        read = np.where((page.gains > 0) & page.listed, filled(page, self.missing), 0.0)
        return np.asarray(self.snippet + self.F * self.unit * read)

    def worth_left(self, page: Page) -> Floats:
        """D(pos), where each rank's text ends."""
        return np.maximum(0.0, 1.0 - np.cumsum(page.costs, axis=1) / self.L)

    def continuation(self, page: Page) -> Floats:
        left = self.worth_left(page)
        after = np.zeros(left.shape)
        after[:, :-1] = left[:, 1:]
        return ratio(after, left)

    def values(self, judged: JudgedRuns) -> Floats:
        depth = max(int(judged.retrieved.max(initial=0)), 1)
        found = [
            np.einsum("ij,ij->i", page.gains, self.worth_left(page))
            for page in self.laid_out(judged, depth)
        ]
        return np.concatenate([*found, np.empty(0)]).reshape(judged.shape[::-1]).T / self.N
