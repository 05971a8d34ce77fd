"""NERR: four users like that of ERR whose expected utility is a measure (cwl_eval's NERR 8 to 11).

ERR is no weighted sum of gains (Azzopardi, Mackenzie and Moffat 2021, "ERR is not C/W/L"). The four
here are numbered as the equations there. Gains from 0 to 1 are the chances to be satisfied.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.measures.base import measure
from cranfield.measures.parameters import number, parameter
from cranfield.measures.users.page import Page
from cranfield.measures.users.satisfied import SatisfiedModel
from cranfield.measures.users.wanted_gain import WANTED

_WEIGHTED = r"\sum_r W(r) \, g_r, \quad C(i) = "
_SOURCE = "Azzopardi and others (2021), equation ({})"
_FAMILY = "user models"


class _AtCutoff(SatisfiedModel):
    @property
    def last(self) -> int | None:
        """The cutoff."""
        return self.cutoff


@measure(
    "NERR8",
    summary="Gain a document of a user who reads the top k until satisfied.",
    formula=_WEIGHTED + r"1 - g_i \text{ for } i < k, \text{ then } 0",
    source=_SOURCE.format(8),
    family=_FAMILY,
    at_wanted="required",
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of NERR-EQ8@k=...", "ir_measures": "NERR8@k"},
)
class NERR8(_AtCutoff):
    """The user of ERR, cut off."""

    def continuation(self, page: Page) -> Floats:
        """Whoever is not satisfied goes on."""
        return np.asarray(1.0 - page.gains)

    def patience(self, rank: Floats) -> Floats:
        """1."""
        return np.ones(rank.shape)


@measure(
    "NERR9",
    summary="Gain a document of a user who reads the top k until satisfied or tired.",
    formula=_WEIGHTED + r"\frac{i}{i + 1} (1 - g_i) \text{ for } i < k, \text{ then } 0",
    source=_SOURCE.format(9),
    family=_FAMILY,
    at_wanted="required",
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of NERR-EQ9@k=...", "ir_measures": "NERR9@k"},
)
class NERR9(_AtCutoff):
    """A user who is read to rank i by 1/i of all, were nobody satisfied: the discount of ERR."""

    def continuation(self, page: Page) -> Floats:
        """Return i / (i + 1) of those who are not satisfied."""
        return np.asarray(page.rank / (page.rank + 1.0) * (1.0 - page.gains))

    def patience(self, rank: Floats) -> Floats:
        """1 over the rank."""
        return 1.0 / rank


@measure(
    "NERR10",
    summary="Gain a document of a user of RBP who stops when satisfied.",
    formula=_WEIGHTED + r"p \, (1 - g_i)",
    source=_SOURCE.format(10),
    family=_FAMILY,
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of NERR-EQ10@phi=...", "ir_measures": "NERR10(p=...)"},
)
class NERR10(SatisfiedModel):
    """The user of RBP, who may be satisfied."""

    p: float = parameter(
        0.9, number(0, 1, open_low=True, open_high=True), "chance to go on if not satisfied"
    )

    def continuation(self, page: Page) -> Floats:
        """Return p of those who are not satisfied."""
        return np.asarray(self.p * (1.0 - page.gains))

    def patience(self, rank: Floats) -> Floats:
        """Return p^(r-1)."""
        return np.asarray(self.p ** (rank - 1.0))


@measure(
    "NERR11",
    summary="Gain a document of a user of INSQ who stops when satisfied.",
    formula=_WEIGHTED + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)",
    source=_SOURCE.format(11),
    family=_FAMILY,
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of NERR-EQ11@T=...", "ir_measures": "NERR11(T=...)"},
)
class NERR11(SatisfiedModel):
    """The user of INSQ, who may be satisfied."""

    T: float = parameter(1.0, WANTED, "gain that the user wants in all")

    def continuation(self, page: Page) -> Floats:
        """Return those of INSQ who are not satisfied."""
        above = page.rank + 2.0 * self.T
        return np.asarray(((above - 1.0) / above) ** 2 * (1.0 - page.gains))

    def patience(self, rank: Floats) -> Floats:
        """V of INSQ."""
        return np.asarray((2.0 * self.T / (rank + 2.0 * self.T - 1.0)) ** 2)
