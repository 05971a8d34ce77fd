"""Equal to PyClick, where that is right, on generated pages.

The numbers were printed by PyClick 98e7e46 (markovi/PyClick, 2021) on Python 3.11: each model's
`train` on the first 300 of :func:`pages_of_ten` and, on the other 200, `LogLikelihood`,
`Perplexity` and `PerplexityCond` of `pyclick.click_models.Evaluation`. Its figures of CM are with
its own floor of 1e-6. PyClick's DBN and CCM are no expectation-maximisation and do not agree.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import cranfield as cf
from tests.conftest import ROOT
from tests.online.click_models.pages import log_of, pages_of_ten

PRINTED = json.loads((ROOT / "tests/data/online/pyclick.json").read_text())["models"]


@pytest.mark.parametrize("model", PRINTED)
def test_figures_are_those_printed(model: str) -> None:
    pages = pages_of_ten(11, 500)
    trained = cf.online.train(log_of(pages[:300]), model)
    found = cf.online.evaluate_models(trained, log_of(pages[300:]))
    row = found.to_polars().row(0, named=True)
    for name, expected in PRINTED[model].items():
        figure = (
            found.ranks[name.removesuffix(" by rank")] if isinstance(expected, list) else row[name]
        )
        np.testing.assert_allclose(figure, expected, rtol=1e-11)
