"""The text form of measures: `Name(param=value, ...)@cutoff`, read without evaluating anything."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from cranfield.base.errors import MeasureError, quoted
from cranfield.measures.base import ALIASES, REGISTRY, Measure
from cranfield.measures.names.papers import from_paper
from cranfield.measures.names.programs import program_names
from cranfield.measures.names.trec_eval import FAMILIES, trec_measures

LONGEST = 500
"""Characters of a measure's text; nothing sensible is longer."""

Wrapper = Callable[..., Measure]
WRAPPERS: dict[str, Wrapper] = {}
"""Functions of a measure that are written `name(Measure@10, param=value)`."""

ON_DEMAND = {"interval": "cranfield.scales.interval_scaled"}
"""Modules of higher floors that enter a function of that name; loaded when it is first named."""


def wrapper(name: str) -> Callable[[Wrapper], Wrapper]:
    """Enter a function that makes a measure of a measure, such as `interval(DCG@10)`."""

    def enter(function: Wrapper) -> Wrapper:
        if name in WRAPPERS or name in REGISTRY:
            raise MeasureError(f"there is a measure {name} already")
        WRAPPERS[name] = function
        return function

    return enter


def parse_measure(text: str | Measure) -> Measure:
    """Read one measure.

    Parameters
    ----------
    text
        The text form, such as `nDCG@10`, `AP(rel=2)@100`, `RBP(p=0.8)`, `IPrec@0.1`; or a name of
        trec_eval that stands for one measure, such as `map`, `P_10`, `ndcg_cut_10`.

    Returns
    -------
    Measure
        Ready to score: complete and with checked parameters.

    Raises
    ------
    MeasureError
        At once, for a wrong name, parameter or value; naming the nearest right ones.

    Examples
    --------
    >>> parse_measure("nDCG(gains='exponential')@20")
    nDCG(gains='exponential')@20
    >>> parse_measure("ndcg_cut_10")
    nDCG@10
    >>> parse_measure("nDGC@10")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: there is no measure 'nDGC'; did you mean nDCG or RnDCG or nsDCG?
    """
    measures = parse_measures(text)
    if len(measures) != 1:
        if text in REGISTRY:
            REGISTRY[str(text)]().require_complete()
        raise MeasureError(
            f"{quoted(text)} stands for {len(measures)} measures, where one is wanted"
        )
    return measures[0]


def parse_measures(
    texts: str | Measure | Iterable[str | Measure], *, compat: str | None = None
) -> list[Measure]:
    """Read several measures; a name of trec_eval may stand for many (`P`, `official`, `all_trec`).

    Parameters
    ----------
    texts
        One text form, or several; measures that are objects already pass through.
    compat
        Read names as that program means them: trec_eval's with the roundings of its version, those
        of `ndeval`, `gdeval`, `ntcireval` and `cwl` as they print them.

    Returns
    -------
    list of Measure
        In order, each once.

    Raises
    ------
    MeasureError
        As :func:`parse_measure`.

    Examples
    --------
    >>> parse_measures("success")
    [Success@1, Success@5, Success@10]
    """
    if isinstance(texts, (str, Measure)):
        texts = [texts]
    found: dict[Measure, None] = {}
    for text in texts:
        if isinstance(text, Measure):
            text.require_complete()
            found[text] = None
        elif isinstance(text, str):
            for name in program_names(compat, text.strip()):
                found.update(dict.fromkeys(_parsed(name, compat)))
        else:
            raise MeasureError(f"{type(text).__name__} is neither a measure nor its text")
    if not found:
        raise MeasureError("no measure was given")
    return list(found)


def _parsed(text: str, compat: str | None) -> list[Measure]:
    if len(text) > LONGEST:
        raise MeasureError(f"a measure of {len(text):,} characters is no measure")
    if (measures := trec_measures(text, compat)) is not None:
        if any(len(str(one)) > LONGEST for one in measures):
            raise MeasureError(f"{quoted(text)} is too long a measure")
        return measures
    try:
        tree = ast.parse(from_paper(text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise MeasureError(
            f"{quoted(text)} is no measure; the form is Name(param=value)@cutoff"
        ) from None
    made = _built(tree, text)
    made.require_complete()
    if len(str(made)) > LONGEST:
        raise MeasureError(f"{quoted(text)} is too long a measure")
    return [made]


def _built(node: ast.expr, text: str) -> Measure:
    at: Any = None
    tree = node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        if isinstance(node.right, ast.Call):
            raise MeasureError(f"{quoted(text)}: parameters go before the @, as in AP(rel=2)@100")
        tree, at = node.left, _literal(node.right, text)
        if at is None:
            raise MeasureError(f"{quoted(text)}: there is no cutoff None")
    arguments: list[ast.expr] = []
    parameters: dict[str, Any] = {}
    if isinstance(tree, ast.Call):
        arguments = tree.args
        for keyword in tree.keywords:
            if keyword.arg is None:
                raise MeasureError(f"{quoted(text)}: parameters are given as name=value")
            parameters[keyword.arg] = _literal(keyword.value, text)
        tree = tree.func
    if not isinstance(tree, ast.Name):
        raise MeasureError(f"{quoted(text)} is no measure; the form is Name(param=value)@cutoff")
    if tree.id in ON_DEMAND:
        if not arguments:
            raise MeasureError(f"{tree.id} needs a measure inside, such as {tree.id}(DCG@10)")
        import_module(ON_DEMAND[tree.id])
    made = _made(tree.id, arguments, parameters, text)
    return made if at is None else made @ at


def _made(
    name: str, arguments: list[ast.expr], parameters: Mapping[str, Any], text: str
) -> Measure:
    """Make a measure of its name, the measure inside if there is one, and its parameters."""
    if name in WRAPPERS:
        if not arguments:
            raise MeasureError(f"{name} needs a measure inside, such as {name}(nDCG@10)")
        if len(arguments) > 1:
            raise MeasureError(f"{name} takes one measure inside, and {quoted(text)} has several")
        return _wrapped(name, _built(arguments[0], text), parameters)
    kind = _kind(name)
    if arguments:
        raise MeasureError(f"{quoted(text)}: parameters are given as name=value")
    return kind()(**parameters)


def _wrapped(name: str, inner: Measure, parameters: Mapping[str, Any]) -> Measure:
    if isinstance(WRAPPERS[name], type):
        return WRAPPERS[name](inner, **parameters)
    known = [one for one in signature(WRAPPERS[name]).parameters if one != "measure"]
    for given in parameters:
        if given not in known:
            have = ", ".join(known)
            raise MeasureError(f"{name} has no parameter {quoted(given)} (it has: {have})")
    return WRAPPERS[name](inner, **parameters)


def _kind(name: str) -> type[Measure]:
    kind = REGISTRY.get(ALIASES.get(name, name))
    if kind is not None:
        return kind
    names = [*FAMILIES, *ON_DEMAND, *WRAPPERS, *ALIASES, *REGISTRY]
    known = {known.lower(): known for known in names if known.isascii()}
    near = difflib.get_close_matches(name.lower(), known, 3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(known[n] for n in near)}?" if near else ""
    raise MeasureError(f"there is no measure {quoted(name)}{hint}")


def _literal(node: ast.expr, text: str) -> Any:
    """Read a number, a string, True, False, None or a mapping of numbers."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise MeasureError(f"{quoted(text)}: a value is no number, 'text' or {{mapping}}") from None
    if isinstance(value, (set, tuple, list, bytes, complex)):
        raise MeasureError(f"{quoted(text)}: {type(value).__name__} values have no use here")
    return value
