"""Images too large to count in: shares within the stated error, and clear refusals."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, PolicyError
from cranfield.scales import distribution
from cranfield.scales.forms.exact_values import split_form
from cranfield.scales.forms.form import Additive
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.images.sums import SummedImage

PAPER = "DCG(discount='max(1,log2(rank))')"


@pytest.fixture
def few_listed_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions come from Fourier inversion alone."""
    monkeypatch.setattr(distribution, "MAX_SUMS", 2**12)


def approximated(name: str, length: int, grades: int = 1) -> SummedImage:
    found = find_form(cf.parse_measure(f"{name}@{length}"), length, grades)
    assert found is not None
    assert isinstance(found.rank_sum, Additive)
    return SummedImage(split_form(found.rank_sum, 1), None, 2**30, None)


@pytest.mark.parametrize(
    ("name", "length", "grades"), [(PAPER, 22, 1), ("RBP(p=0.8)", 22, 1), ("nDCG", 10, 3)]
)
def test_shares_are_those_that_are_counted(name: str, length: int, grades: int) -> None:
    runs = np.random.default_rng(0).integers(0, grades + 1, (200, length))
    found = approximated(name, length, grades)
    exact = cf.image(f"{name}@{length}", grades=grades)
    assert exact.is_exact
    away = np.abs(found.compute_relative_ranks(runs) - exact.compute_relative_ranks(runs)).max()
    # A rank counts the value itself, a share from 0 to 1 does not: they are 1 / size apart.
    assert away <= found.distribution.error + 2 / exact.size
    assert found.distribution.error <= 2e-5


@pytest.mark.usefixtures("few_listed_sums")
@pytest.mark.parametrize("name", ["RBP(p=0.8)", "nDCG"])
def test_a_thousand_ranks(name: str) -> None:
    image = cf.image(name, 1000)
    assert not image.is_exact
    assert image.error <= 1e-6
    rng = np.random.default_rng(1)
    runs = (rng.random((50, 1000)) < rng.random((50, 1))).astype(int)
    better = runs.copy()
    better[np.arange(50), np.argmin(runs, axis=1)] = 1
    both = image.compute_relative_ranks(np.concatenate([runs, better]))
    assert ((both >= 0) & (both <= 1)).all()
    assert (both[50:] >= both[:50]).all()
    ends = image.compute_relative_ranks([[0] * 1000, [1] * 1000])
    np.testing.assert_allclose(ends, [0, 1], atol=image.error)
    for ties in ("unique", "mid"):
        with pytest.raises(PolicyError, match=r"about 2\^\d+ possible values.*relative_ranks"):
            image.rank_runs(runs, ties=ties)
    with pytest.raises(PolicyError, match="relative_ranks"):
        image.rank([0.5])
    with pytest.raises(PolicyError, match="can be listed"):
        image.values()


@pytest.mark.usefixtures("few_listed_sums")
def test_a_measure_of_long_runs() -> None:
    qrels = {"q": {f"d{k}": 1 for k in range(0, 900, 3)}}
    run = {"q": {f"d{k}": -k for k in range(900)}}
    with pytest.warns(CranfieldWarning, match="accurate to .* may be tied"):
        ev = cf.evaluate(run, qrels, "interval(nDCG@900)")
    value = ev["interval(nDCG@900)"].values[0, 0]
    assert 0 < value < 0.5
    with pytest.raises(PolicyError, match="too many for exact ranks"):
        cf.evaluate(run, qrels, "interval(nDCG@900, raw=True)")
