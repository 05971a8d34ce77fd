"""Users who click by chance: from one who finds everything to one who clicks anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.checks import check_choice, numbers
from cranfield.base.errors import PolicyError, quoted

STOP = ("examined", "clicked")
"""Where a user may stop: at every examined result, or only after a click."""

PRESETS: dict[str, dict[int, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "perfect": {
        2: ((0.0, 1.0), (0.0,) * 2),
        3: ((0.0, 0.5, 1.0), (0.0,) * 3),
        5: ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0,) * 5),
    },
    "navigational": {
        2: ((0.05, 0.95), (0.2, 0.9)),
        3: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        5: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        2: ((0.4, 0.9), (0.1, 0.5)),
        3: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        5: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "almost random": {
        2: ((0.4, 0.6), (0.5,) * 2),
        3: ((0.4, 0.5, 0.6), (0.5,) * 3),
        5: ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5,) * 5),
    },
    "random": {size: ((0.5,) * size, (0.0,) * size) for size in (2, 3, 5)},
}
"""By name and number of grades: the chances of a click, and of stopping, by grade."""


@dataclass(frozen=True)
class CascadeUser:
    r"""A user who goes down a page, clicks by grade, and stops by grade.

    The chance of a click at rank r is, with that of a click c and of stopping s by grade g,

    .. math:: P(C_r = 1) = c(g_r) \prod_{i<r} (1 - s(g_i))

    if a user may stop at every result that he examines, and with c(g_i) s(g_i) in the place of
    s(g_i) if he stops only after a click (Guo et al., 2009; Hofmann et al., 2011).

    Attributes
    ----------
    click, stop
        Chances by grade, from 0 on.
    after
        `examined`: he may stop at every result he examines, as most programs have it; `clicked`:
        only where he clicked, as the papers say.
    name
        What he is called.

    Examples
    --------
    >>> user = CascadeUser((0.05, 0.95), (0.2, 0.9))
    >>> user.chances([[1, 0, 1]]).round(4).tolist()
    [[0.95, 0.005, 0.076]]
    """

    click: tuple[float, ...]
    stop: tuple[float, ...]
    after: str = "examined"
    name: str = "own"

    def __post_init__(self) -> None:
        check_choice("stop", self.after, STOP)
        for what in ("click", "stop"):
            given = numbers(getattr(self, what), f"the chances of a {what}")
            if given.ndim != 1 or not given.size or not ((given >= 0) & (given <= 1)).all():
                raise PolicyError(f"the chances of a {what} by grade lie between 0 and 1")
            object.__setattr__(self, what, tuple(given.tolist()))
        if len(self.click) != len(self.stop):
            raise PolicyError(
                f"chances of a click are of {len(self.click)} grades, those of stopping of"
                f" {len(self.stop)}"
            )

    def clicks(self, grades: Any, uniforms: Floats) -> Bools:
        """Return which results are clicked.

        Parameters
        ----------
        grades
            Grade of each result, shape (pages, ranks); below 0 where a list has ended.
        uniforms
            Random numbers from 0 to below 1, shape (pages, at least 2 * ranks): at rank r from 0,
            number 2r is for the click and number 2r + 1 for stopping.

        Raises
        ------
        PolicyError
            For a grade without chances, or too few numbers.
        """
        rows, shown = self._rows(grades)
        width = 2 * rows.shape[1]
        if uniforms.ndim != 2 or len(uniforms) != len(rows) or uniforms.shape[1] < width:
            raise PolicyError(f"clicks on {rows.shape[1]} ranks need {width} numbers a page")
        clicked = (uniforms[:, 0:width:2] < np.array(self.click)[rows]) & shown
        stopped = uniforms[:, 1:width:2] < np.array(self.stop)[rows]
        if self.after == "clicked":
            stopped &= clicked
        clicked[:, 1:] &= ~np.logical_or.accumulate(stopped, axis=1)[:, :-1]
        return clicked

    def chances(self, grades: Any) -> Floats:
        """Return the chance of a click on each result, shape (pages, ranks), exactly."""
        rows, shown = self._rows(grades)
        clicked, stopped = np.array(self.click)[rows], np.array(self.stop)[rows]
        if self.after == "clicked":
            stopped = stopped * clicked
        seen = np.ones(clicked.shape)
        seen[:, 1:] = np.cumprod(1 - stopped, axis=1)[:, :-1]
        return np.where(shown, clicked * seen, 0.0)

    def _rows(self, grades: Any) -> tuple[Indices, Bools]:
        """Return where chances stand, and which results there are."""
        rows = np.asarray(grades)
        if rows.ndim != 2 or rows.dtype.kind not in "iu":
            raise PolicyError("grades are whole numbers, by page and rank")
        if rows.size and rows.max() >= len(self.click):
            raise PolicyError(
                f"grade {rows.max()} has no chance of a click: the {self.name} user knows grades 0"
                f" to {len(self.click) - 1}"
            )
        return np.maximum(rows, 0).astype(np.intp), rows >= 0

    def __str__(self) -> str:
        return self.name if self.after == "examined" else f"{self.name} ({self.after})"

    def __repr__(self) -> str:
        click, stop = (", ".join(f"{x:g}" for x in one) for one in (self.click, self.stop))
        return f"CascadeUser({self}: clicks {click}; stops {stop})"


def simulated_user(name: str, grades: int = 2, stop: str = "examined") -> CascadeUser:
    """Return a user of the literature.

    Parameters
    ----------
    name
        `perfect`, `navigational`, `informational`, `almost random` or `random`.
    grades
        How many grades there are: 2, 3 or 5.
    stop
        As `after` of :class:`CascadeUser`.

    Raises
    ------
    PolicyError
        For another name or number of grades; :class:`CascadeUser` takes chances of one's own.

    Notes
    -----
    A user of the cascade (Guo, Liu and Wang, 2009), with the chances by which studies of
    interleaving have been made since Hofmann, Whiteson and de Rijke (2011).

    Examples
    --------
    >>> simulated_user("navigational", grades=3)
    CascadeUser(navigational: clicks 0.05, 0.5, 0.95; stops 0.2, 0.5, 0.9)
    """
    check_choice("user", name, PRESETS)
    of_name = PRESETS[name]
    if grades not in of_name:
        raise PolicyError(
            f"simulated users know 2, 3 or 5 grades, not {quoted(grades)}; CascadeUser takes"
            " chances of one's own"
        )
    return CascadeUser(*of_name[grades], after=stop, name=name)
