"""Click models by name, saved as JSON once trained."""

from __future__ import annotations

import json
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, quoted
from cranfield.base.files import whole_file
from cranfield.base.spec import Registry, parameters_of, summary_of
from cranfield.online.click_models.model import KEYS, MOST, Items, Model, Tallies, Tally

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
"""Of the form of the file; read are those up to this one."""

KIND = "click model"
FIELDS = ("kind", "version", "model", "tied", "ranks", "pages", "items", "tallies", "objective")


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
        text = Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError("no trained click model: not UTF-8", source=name) from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be read: {reason}", source=name) from None
    try:
        return _fields(_object(text))
    except (CranfieldError, _DamagedError) as error:
        raise InputError(f"no trained click model: {error}", source=name) from None


class _DamagedError(Exception):
    """Reason why a file is not a trained model."""


def _refused(constant: str) -> Any:
    raise _DamagedError(f"{constant} is no number")


def _object(text: str) -> dict[str, Any]:
    try:
        saved = json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise _DamagedError(f"line {error.lineno}: {error.msg.lower()}") from None
    except (RecursionError, ValueError, MemoryError):
        raise _DamagedError("JSON that goes too deep or has too long a number") from None
    if not isinstance(saved, dict) or saved.get("kind") != KIND:
        raise _DamagedError(f"no object of kind {KIND!r}")
    version: Any = saved.get("version")
    if not _whole(version) or not 1 <= version <= VERSION:
        raise _DamagedError(f"version {quoted(version)}, known is {VERSION}")
    for name in FIELDS:
        if name not in saved:
            raise _DamagedError(f"{name} is missing")
    return saved


def _fields(saved: dict[str, Any]) -> dict[str, Any]:
    model = parse_model(saved["model"])
    tied = saved["tied"]
    if tied is not None and tied != "grade":
        raise _DamagedError(f"tied {quoted(tied)} is neither null nor 'grade'")
    items = _items(saved["items"], tied)
    for name in ("ranks", "pages"):
        if not _whole(saved[name]) or not 1 <= saved[name] < 2**53:
            raise _DamagedError(f"{name} is no whole number from 1")
    counts = saved["tallies"]
    if not isinstance(counts, dict) or set(counts) != set(model.by):
        raise _DamagedError(f"tallies are those of {', '.join(model.by)}")
    sizes = model.sizes(items.size, saved["ranks"])
    tallies: Tallies = {name: _tally(name, counts[name], sizes[name]) for name in model.by}
    objective = _floats("objective", saved["objective"])
    sizes_of_log = {name: saved[name] for name in ("ranks", "pages")}
    return dict(model=model, items=items, tallies=tallies, objective=objective, **sizes_of_log)


def _items(given: Any, tied: str | None) -> Items:
    keys = KEYS[tied]
    if not isinstance(given, dict) or set(given) != set(keys):
        raise _DamagedError(f"items are lists of {' and '.join(keys)}")
    columns = [given[key] for key in keys]
    if not all(isinstance(one, list) and len(one) == len(columns[0]) for one in columns):
        raise _DamagedError(f"items are lists of {' and '.join(keys)}, as long as each other")
    for column in columns:
        for one in column:
            grade = one is None or (_whole(one) and abs(one) < 2**31)
            if not (grade if tied else isinstance(one, str)):
                raise _DamagedError(f"{keys[0] if tied else 'query or doc'} {quoted(one)} in items")
    kind = pl.Int64 if tied else pl.String
    try:
        frame = pl.DataFrame(
            {key: pl.Series(one, dtype=kind) for key, one in zip(keys, columns, strict=True)}
        )
    except (UnicodeEncodeError, pl.exceptions.PolarsError):
        raise _DamagedError("items that are no text") from None
    if frame.is_duplicated().any():
        raise _DamagedError("an item is there twice")
    return Items(tied, frame)


def _tally(name: str, given: Any, size: int) -> Tally:
    if not isinstance(given, dict) or set(given) != {"hits", "trials"}:
        raise _DamagedError(f"{name} has hits and trials")
    hits, trials = (_floats(name, given[one]) for one in ("hits", "trials"))
    if hits.size != size or trials.size != size:
        raise _DamagedError(f"{name} has {size} values, not {hits.size} and {trials.size}")
    # Expected numbers are rounded.
    if not ((hits >= 0) & (hits <= trials * (1 + 1e-9) + 1e-9)).all():
        raise _DamagedError(f"{name} has hits below 0 or above its trials")
    if not (trials <= MOST).all():
        raise _DamagedError(f"{name} has more trials than can be counted")
    return Tally(hits, trials)


def _floats(name: str, given: Any) -> Floats:
    known = isinstance(given, list) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in given
    )
    try:
        numbers = np.array(given if known else [np.nan], dtype=np.float64)
    except OverflowError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise _DamagedError(f"{name} is no list of numbers")
    return numbers


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
