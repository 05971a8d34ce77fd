"""Chances of hidden states are exact: equal to the sum over all of them."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.online.click_models.model import EMModel
from tests.online.click_models.pages import log_of, random_pages

PAGES = random_pages(3, 400, docs=5)


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "CCM", "DBN(gamma=0.9)"])
def test_the_objective_never_falls(name: str) -> None:
    log = log_of(PAGES)
    for prior in ({}, {"alpha": 1.0, "beta": 1.0}, {"alpha": 1.0, "beta": 3.0}):
        kind = cf.online.parse_model(name)(**prior)
        objective = cf.online.train(log, kind).objective
        assert objective.size == 51
        assert np.diff(objective).min() > -1e-9
    assert isinstance(kind, EMModel)
    stopped = cf.online.train(log, kind(tolerance=0.1, alpha=2, beta=2)).objective
    assert stopped.size < 51
    assert np.diff(stopped)[-1] < 0.1
    assert np.diff(stopped)[:-1].min(initial=1) >= 0.1


def test_long_pages_do_not_vanish() -> None:
    """Chances of a page of 1500 are far below the smallest float."""
    docs = tuple(f"d{k}" for k in range(1500))
    pages = [("q", docs, (0,) * 1499 + (1,)), ("q", docs, (1,) * 1500), ("q", docs, (0,) * 1500)]
    for name in ("DBN(iterations=3)", "CCM(iterations=3)"):
        found = cf.online.train(log_of(pages), name)
        assert np.isfinite(found.objective).all()
        assert all(np.isfinite(one["value"].to_numpy()).all() for one in found.parameters.values())
