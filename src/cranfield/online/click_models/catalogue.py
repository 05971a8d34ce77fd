"""The click models, by name."""

from __future__ import annotations

from inspect import getdoc

import polars as pl

from cranfield.measures.declared import parse_declared
from cranfield.online.click_models.browsing import UBM
from cranfield.online.click_models.cascade import CM, DCM, SDBN
from cranfield.online.click_models.dynamic import CCM, DBN
from cranfield.online.click_models.independent import DCTR, GCTR, PBM, RCTR
from cranfield.online.click_models.model import Model

MODELS: dict[str, type[Model]] = {
    kind.name: kind for kind in (GCTR, RCTR, DCTR, PBM, CM, UBM, DCM, CCM, DBN, SDBN)
}
"""Click models by name."""

_ALIASES = {"RCM": "GCTR"}


def click_models() -> pl.DataFrame:
    """List the click models: name, parameters, what they say, source.

    Examples
    --------
    >>> click_models().filter(pl.col("model") == "DBN").select("learns", "source").rows()
    [('attractiveness, satisfaction, continuation', 'Chapelle and Zhang (2009)')]
    """
    return pl.DataFrame(
        {
            "model": list(MODELS),
            "learns": [", ".join(kind.by) for kind in MODELS.values()],
            "options": [
                ", ".join(f"{name}={one.default!r}" for name, one in kind.parameters.items())
                for kind in MODELS.values()
            ],
            "what it says": [(getdoc(kind) or "").split("\n\n")[0] for kind in MODELS.values()],
            "source": [kind.source for kind in MODELS.values()],
        }
    )


def parse_model(text: str | Model) -> Model:
    """Read a click model from its text form.

    Raises
    ------
    PolicyError
        For a wrong name, parameter or value.

    Examples
    --------
    >>> parse_model("dbn(gamma=0.9)"), parse_model("PBM(iterations=20)")
    (DBN(gamma=0.9), PBM(iterations=20))
    """
    return parse_declared(text, Model, MODELS, _ALIASES, "click model")
