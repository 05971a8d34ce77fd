"""Training of click models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.online.click_models.catalogue import parse_model
from cranfield.online.click_models.items import Items, with_grades
from cranfield.online.click_models.model import Model
from cranfield.online.click_models.patterns import Patterns, patterns_of
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog


def train(
    log: QueryLog, model: str | Model, *, tied: str | None = None, qrels: Any = None
) -> ClickModel:
    """Estimate the parameters of a click model.

    Parameters
    ----------
    log
        Pages with all their results and the clicks on them. Several clicks on a result are one, a
        click on no result is none; pages without results say nothing.
    model
        Such as `DBN`, `DBN(gamma=0.9)` or `PBM(iterations=100)`; :func:`models` lists them.
        Each parameter is a chance with a Beta prior; `alpha` and `beta` of 2 are what PyClick has.
    tied
        None for parameters of each query and document; `grade` for parameters of each grade of
        relevance, where results without one are a class of their own.
    qrels
        Judgments to tie by, where the log itself has no grades of results.

    Returns
    -------
    ClickModel

    Raises
    ------
    InputError
        For a log that does not tell what was shown, or the grades.
    PolicyError
        For a model that there is not, and wrong options.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.train(cf.online.simulated_log(), "SDBN").model
    SDBN
    """
    return train_models(log, [model], tied=tied, qrels=qrels)[0]


def train_models(
    log: QueryLog,
    models: Iterable[str | Model],
    *,
    tied: str | None = None,
    qrels: Any = None,
) -> tuple[ClickModel, ...]:
    """Estimate the parameters of several click models, from pages that are laid out once.

    Parameters are as those of :func:`train`.

    Examples
    --------
    >>> import cranfield as cf
    >>> found = cf.online.train_models(cf.online.simulated_log(), ["PBM", "UBM"])
    >>> [one.model for one in found]
    [PBM, UBM]
    """
    known = [parse_model(one) for one in models]
    check_choice("tied", "none" if tied is None else tied, ("none", "grade"))
    tied = None if tied in {None, "none"} else tied
    if qrels is not None:
        if tied is None:
            raise PolicyError("judgments are for parameters tied by grade: tied='grade'")
        log = with_grades(log, qrels)
    items, codes = Items.of(log, tied)
    return fitted(patterns_of(log, items, codes), known)


def fitted(pages: Patterns, models: Iterable[Model]) -> tuple[ClickModel, ...]:
    """Estimate models from pages as they are laid out."""
    found = [(model, model.fit(pages)) for model in models]
    number = int(pages.weights.sum())
    return tuple(
        ClickModel(model, pages.items, pages.ranks, fit.tallies, fit.objective, number)
        for model, fit in found
    )
