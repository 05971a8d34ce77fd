r"""Users of any kind who go on by what there is at a rank: C/W/L of chances that are given.

So the users of click models are user models: with :math:`C(i) = \gamma (1 - a_i s_i)` that of a
dynamic Bayesian network, with :math:`C(i) = x_{i+1} / x_i` that of a position-based model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.measures.base import measure
from cranfield.measures.parameters import optional, parameter
from cranfield.measures.users.clicks import Chain, Chances, at_rank, by_rank, chances
from cranfield.measures.users.model import UserModel
from cranfield.measures.users.page import Page


@measure(
    "CWL",
    summary="Gain a rank that is read by users who go on by the grade there, and by the rank.",
    formula=r"\sum_r W(r) \, g_r, \quad C(i) = u_i \, v(\mathit{grade}_i)",
    source="Moffat and others (2017)",
    family="user models",
    needs="chances to go on, such as those of a click model",
)
class Continuing(UserModel):
    """A user model by its continuation: C is the chance at the rank times that of the grade.

    Users who read the last of 1000 ranks stop there.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> asked = ["CWL(by_grade={0: 0.8, 1: 0})", "ETU(CWL(by_rank={1: 0.5, 2: 0}))"]
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, asked).by_system().row(0)[1:]
    (1.0, 1.0)
    """

    by_grade: Chances | None = parameter(
        None,
        optional(chances),
        "chance to go on by grade; a grade that is not named is as the next one below that is."
        " Documents without a judgment, and ranks beyond the list, are as grade 0, unless None is"
        " named too",
    )
    by_rank: Chances | None = parameter(
        None,
        optional(by_rank),
        "chance to go on by rank; that of the last one named holds below it",
    )

    reads_grades = True

    def require_complete(self) -> None:
        super().require_complete()
        if self.by_grade is None and self.by_rank is None:
            raise MeasureError(
                "CWL needs chances to go on, such as by_grade={0: 0.9, 1: 0.5} or by_rank={1: 0.8}"
            )

    @property
    def beyond_length(self) -> str:
        """Ranks beyond the list are as documents of grade 0, if those without a judgment are."""
        named = self.by_grade is not None and self.by_grade.unjudged is not None
        return "how many documents are retrieved" if named else ""

    def continuation(self, page: Page) -> Floats:
        assert page.grades is not None
        unknown = np.isnan(page.grades)
        chance = at_rank(self.by_grade, np.where(unknown, 0.0, page.grades))
        if self.by_grade is not None and self.by_grade.unjudged is not None:
            chance = np.where(unknown, self.by_grade.unjudged, chance)
        return np.asarray(chance * at_rank(self.by_rank, page.rank) + np.zeros(unknown.shape))


def user_of(measure: Chain, **options: Any) -> Continuing:
    """Return the user model of a measure of a click model, by the law of the measure.

    Users of a measure with a cutoff stop there.

    Parameters
    ----------
    options
        Other parameters of the user model, such as `gains`.

    Raises
    ------
    MeasureError
        Where the chance to go on is none of the grade times one of the rank, or a rank is examined
        more often than the one above it.
    """
    measure.require_complete()
    assert measure.clicks is not None
    grades = np.array([grade for grade, _ in measure.clicks.pairs])

    def of(chances: Chances | None) -> Any:
        if chances is None:
            return np.zeros((grades.size + 1, 1))
        unjudged = 0.0 if chances.unjudged is None else chances.unjudged
        return np.append(chances.named(grades), unjudged)[:, np.newaxis]

    given = (getattr(measure, name, None) for name in ("examined", "continues"))
    deepest = max((one.pairs[-1][0] for one in given if one is not None), default=1)
    rank = np.arange(1, deepest + 1)
    going_on = np.broadcast_to(measure.going_on(of, rank), (grades.size + 1, deepest))
    if np.ptp(going_on, axis=1).any():
        raise MeasureError(
            f"{measure.name} has no user model: its users go on by grade and rank together"
        )
    unjudged = measure.clicks.unjudged is not None
    named = [*grades.tolist(), *([None] if unjudged else [])]
    seen = measure.share(np.arange(1, deepest + 2)) * np.ones(deepest + 1)
    if (seen[1:] > seen[:-1]).any():
        low = int(np.argmax(seen[1:] > seen[:-1])) + 2
        raise MeasureError(
            f"{measure.name} has no user model: rank {low} is examined more often than the one"
            " above it"
        )
    ratio = np.divide(seen[1:], seen[:-1], out=np.zeros(deepest), where=seen[:-1] > 0)
    by_rank = dict(zip(rank.tolist(), ratio.tolist(), strict=True))
    if measure.cutoff is not None:
        by_rank = {at: chance for at, chance in by_rank.items() if at < measure.cutoff}
        by_rank[measure.cutoff] = 0.0
    by_grade = dict(zip(named, going_on[:, 0].tolist(), strict=False))
    alike = {*by_rank.values()} == {1.0}
    return Continuing(
        by_grade=None if {*by_grade.values()} == {1.0} and not alike else by_grade,
        by_rank=None if alike else by_rank,
        **options,
    )
