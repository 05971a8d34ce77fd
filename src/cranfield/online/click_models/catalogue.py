"""The click models, by name."""

from __future__ import annotations

import polars as pl

from cranfield.measures.kinds import Kinds
from cranfield.online.click_models.model import Model

MODELS = Kinds(
    Model,
    "click model",
    "cranfield.online.click_models",
    """
    independent: GCTR=RCM RCTR DCTR PBM
    cascade: CM
    browsing: UBM
    cascade: DCM
    dynamic: CCM DBN
    cascade: SDBN
    """,
)


def models() -> pl.DataFrame:
    """List the click models: name, parameters, what they say, source.

    Examples
    --------
    >>> models().filter(pl.col("model") == "DBN").select("learns", "source").rows()
    [('attractiveness, satisfaction, continuation', 'Chapelle and Zhang (2009)')]
    """
    return pl.DataFrame(
        {
            "model": list(MODELS),
            "learns": [", ".join(kind.by) for kind in MODELS.values()],
            "parameters": MODELS.parameters(),
            "what it says": MODELS.summaries(),
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
    return MODELS.parse(text)
