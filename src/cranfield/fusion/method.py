"""What a method of fusion is: a score of each document from the rankings of several runs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.fusion.rankings import Rankings
from cranfield.measures.declared import Declared


def finite(scores: Floats) -> Floats:
    """Return scores, or refuse those that are too large to be held."""
    if not np.isfinite(scores).all():
        raise PolicyError(
            "the fused scores are too large: give smaller weights, or a norm such as min-max"
        )
    return scores


class Fusion(Declared):
    """A way to make one ranking of several; its text form is its identity.

    Names are read whatever their case, blanks, hyphens and underscores.
    """

    error = PolicyError
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Where the definition stands."""
    by_score: ClassVar[bool] = False
    """Whether it goes by scores, which are normalised, or by ranks alone."""
    weighs: ClassVar[bool] = True
    """Whether runs may have weights."""

    @classmethod
    def called(cls) -> str:
        return cls.name

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        """Score the documents, higher is better; shape (documents,).

        Parameters
        ----------
        given
            The rankings.
        weights
            Of the systems; shape (systems,).
        norm
            Normalisation of scores, of methods that go by them.
        """
        raise NotImplementedError
