"""Click models by name, saved as JSON once trained."""

from __future__ import annotations

import json
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    check_whole,
    numbers,
    quoted,
)
from cranfield.base.files import whole_file
from cranfield.base.spec import Registry, parameters_of, summary_of
from cranfield.online.click_models.model import KEYS, MOST, Items, Model, Tally

MODELS: Registry[type[Model]] = Registry(
    "click model",
    """
    models: GCTR=RCM RCTR DCTR PBM CM UBM DCM CCM DBN SDBN
    """,
    package="cranfield.online.click_models",
    base=Model,
)


def models() -> pl.DataFrame:
    """List the click models: name, parameters, what they say, source.

    Examples
    --------
    >>> models().filter(pl.col("model") == "DBN").select("learns", "source").rows()
    [('attractiveness, satisfaction, continuation', 'Chapelle and Zhang (2009)')]
    """
    return MODELS.table(
        "model",
        {
            "learns": lambda kind: ", ".join(kind.by),
            "parameters": parameters_of,
            "what it says": summary_of,
            "source": attrgetter("source"),
        },
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


VERSION = 1
"""Version of the form of the file."""

KIND = "click model"


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a trained model, a ClickModel, to a file of JSON, whole or not at all."""
    fields = {
        "kind": KIND,
        "version": VERSION,
        "model": str(model.model),
        "tied": model.items.tied,
        "ranks": model.ranks,
        "pages": model.pages,
        "items": model.items.frame.to_dict(as_series=False),
        "tallies": {
            name: {"hits": one.hits.tolist(), "trials": one.trials.tolist()}
            for name, one in model.tallies.items()
        },
        "objective": model.objective.tolist(),
    }
    with whole_file(path) as out:
        out.write(json.dumps(fields).encode())


def load(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the fields of a trained model from a file, and check that they match each other."""
    name = fspath(path)
    try:
        text = Path(name).read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be read: {reason}", source=name) from None
    try:
        return _fields(json.loads(text))
    except KeyError as error:
        reason = f"{error.args[0]} is missing"
    except (CranfieldError, ValueError) as error:
        reason = str(error)
    except (TypeError, AttributeError, RecursionError, MemoryError, OverflowError):
        reason = "unexpected structure"
    raise InputError(f"not a trained click model: {reason}", source=name)


def _fields(saved: Any) -> dict[str, Any]:
    if saved["kind"] != KIND:
        raise PolicyError(f"kind must be {KIND!r}, got {quoted(saved['kind'])}")
    check_whole("version", saved["version"], VERSION, VERSION)
    model, tied = parse_model(saved["model"]), saved["tied"]
    if tied not in (None, "grade"):
        raise PolicyError(f"tied must be null or 'grade', got {quoted(tied)}")
    columns = dict.fromkeys(KEYS[tied], pl.Int64 if tied else pl.String)
    try:
        items = Items(tied, pl.DataFrame(saved["items"], schema=columns))
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        reason = f"items must be equally long lists of {' and '.join(columns)}"
        raise PolicyError(reason) from None
    unknown = tied is None and items.frame.height > items.frame.drop_nulls().height
    if unknown or items.frame.is_duplicated().any():
        raise PolicyError(f"items must be different, each with {' and '.join(columns)}")
    for name in ("ranks", "pages"):
        check_whole(name, saved[name], 1, 2**53)
    tallies = {}
    for name, size in model.sizes(items.size, saved["ranks"]).items():
        tally = Tally(*(numbers(saved["tallies"][name][one], one) for one in ("hits", "trials")))
        if not tally.hits.shape == tally.trials.shape == (size,):
            raise PolicyError(f"{name} must have {size} hits and trials each")
        # Expected numbers are rounded.
        possible = (tally.hits >= 0) & (tally.hits <= tally.trials * (1 + 1e-9) + 1e-9)
        if not (possible & (tally.trials <= MOST)).all():
            raise PolicyError(f"{name} must have hits from 0 to its trials, at most 2^53")
        tallies[name] = tally
    objective = numbers(saved["objective"], "objective")
    if objective.ndim != 1 or not np.isfinite(objective).all():
        raise PolicyError("objective must be a list of finite numbers")
    return {
        "model": model,
        "items": items,
        "ranks": saved["ranks"],
        "tallies": tallies,
        "objective": objective,
        "pages": saved["pages"],
    }
