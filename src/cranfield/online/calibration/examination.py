"""The chance that results were examined, given all clicks of their page."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.online.click_models.cascade import CM, DCM, SDBN
from cranfield.online.click_models.dynamic import Dynamic, posterior
from cranfield.online.click_models.model import Model, Values, at_rank
from cranfield.online.click_models.patterns import Patterns


def examined(model: Model, values: Values, pages: Patterns) -> Floats:
    """Return P(E = 1) of each result, by a model of users who go on from rank to rank."""
    if isinstance(model, Dynamic):
        return model.posterior(values, pages).examined
    if not isinstance(model, (CM, SDBN, DCM)):
        raise PolicyError(f"{model}: its users do not read down to some rank")
    a = values["attractiveness"][pages.codes]
    after_click = np.zeros(a.size)
    if isinstance(model, SDBN):
        after_click = 1 - values["satisfaction"][pages.codes]
    elif isinstance(model, DCM):
        after_click = at_rank(values["continuation"], pages.rank)
    # Who goes on after a click was not satisfied; all go on after none.
    return posterior(pages, a, 1 - after_click, (1.0, 1.0, 0.0)).examined
