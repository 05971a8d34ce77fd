"""Judgments and runs of the ir_datasets catalogue, when that package is installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cranfield.base.errors import InputError, optional_module


def records(name: str, kind: str) -> Iterable[Any]:
    """Iterate over the qrels or the scored documents of the data set `irds:<id>`."""
    ir_datasets = optional_module("ir_datasets", "ir-datasets", "'cranfield[irds]'", user=name)
    try:
        dataset = ir_datasets.load(name.removeprefix("irds:"))
        if kind == "qrels" and dataset.has_qrels():
            return list(dataset.qrels_iter())
        if kind == "run" and dataset.has_scoreddocs():
            return list(dataset.scoreddocs_iter())
    except KeyError:
        raise InputError("ir_datasets knows no data set of that id", source=name) from None
    except (OSError, RuntimeError) as error:
        # Most often there is no network, or a licence has to be accepted first.
        reason = (str(error).splitlines() or ["for an unknown reason"])[0]
        raise InputError(f"ir_datasets cannot give it: {reason}", source=name) from error
    raise InputError(f"has no {kind}", source=name)
