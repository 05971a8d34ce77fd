"""What users can expect, for any measure with a user model: EU, ETU, EC, ETC, Depth, Residual."""

from __future__ import annotations

from typing import Any

from cranfield.base.errors import MeasureError
from cranfield.measures.base import Measure
from cranfield.measures.grammar import parse_measure, wrapper
from cranfield.measures.users.expectation import Expectation


def _made(kind: str, measure: Measure | str, **given: Any) -> Expectation:
    if isinstance(measure, str):
        measure = parse_measure(measure)
    if not isinstance(measure, Measure):
        raise MeasureError(f"{kind}: {type(measure).__name__} is neither a measure nor its text")
    return Expectation(kind, measure, **given)


@wrapper("EU")
def EU(measure: Measure | str, *, depth: int | None = None) -> Measure:  # noqa: N802
    r"""Gain a rank that is read: the expected utility of a measure's user model.

    Parameters
    ----------
    measure
        A measure that has a user model, or its text: P, RR, AP, ERR, RBP, SDCG, INST, INSQ, NERR8
        to NERR11, BPM, BPMDynamic, TBG, U, or one of your own.
    depth
        The last rank that anybody reads. By default it is that of the model: none where its sums
        are known without end (RBP, INST, INSQ), the cutoff (P, SDCG), and else 1000.

    Returns
    -------
    Measure
        A measure like any other, with the text form `EU(RBP(p=0.8))`.

    Raises
    ------
    MeasureError
        For a measure without a user model.

    Notes
    -----
    The sum of W(r) g(r) (Moffat and others 2017, section 2). Unjudged documents and ranks beyond
    the list or the cutoff have no gain. Where a program or a paper counts otherwise:

    ============  =====================================  =========================================
    model         here                                   cwl_eval 1.0.12
    ============  =====================================  =========================================
    all           V(r) g(r) in ETU, V(r) c(r) in ETC:    L(n) leaves out who goes on from n, so
                  all stop at the last rank              that ETU is less than EU by depth
    RBP           no last rank (Moffat and Zobel 2008)   weights of 1000 ranks, brought to sum 1:
                                                         `EU(RBP, depth=1000)`
    INST, INSQ    no last rank                           1000 ranks: `depth=1000`
    AP            AP is over RB, EU(AP) over what is     EU over what is retrieved
                  retrieved (see there)
    TBG           a sum (Smucker and Clarke 2012); EU    a rate, of gains as they are given; EU(TBG)
                  is the rate                            is .4928 times that
    U             a sum at the end of each text          a rate, at the start of each text; no
                  (Sakai 2013, equation 19)              weight for rank n
    BPMDynamic    T and K go up and down by what is      K never changes: `hc=0`
                  found
    ============  =====================================  =========================================

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"b": 3, "c": 2}}
    >>> asked = ["EU(P@2)", "EU(RBP(p=0.5))", "EU(RBP(p=0.5), depth=2)", "EU(AP)", "AP"]
    >>> cf.evaluate(run, qrels, asked).by_system().row(0)[1:]
    (0.5, 0.5, 0.666..., 1.0, 0.5)
    """
    return _made("EU", measure, depth=depth)


@wrapper("ETU")
def ETU(measure: Measure | str, *, depth: int | None = None) -> Measure:  # noqa: N802
    """Gain until the user stops: the expected total utility of a measure's user model.

    The sum of V(r) g(r), which is EU by Depth; for the rest see :func:`EU`.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"b": 3, "c": 2}}
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, "ETU(INST(T=2))").by_system().rows()
    [('run', 1.0)]
    """
    return _made("ETU", measure, depth=depth)


@wrapper("EC")
def EC(  # noqa: N802
    measure: Measure | str,
    *,
    depth: int | None = None,
    unit: float | None = None,
    fixed: float = 0.0,
    missing: float | None = None,
) -> Measure:
    """Cost of a rank that is read: the expected cost of a measure's user model.

    Parameters
    ----------
    measure, depth
        As for :func:`EU`; where costs go by length, the depth is 1000 if there is no other.
    unit
        What a unit of length costs, for costs by the lengths of documents. By default each rank
        costs what the model says: seconds in TBG, characters in U, elsewhere 1.
    fixed
        What each rank costs whatever its length.
    missing
        A length to take for documents without a known one, and for ranks beyond the list; without
        it the first are an error, and the second have no length.

    Notes
    -----
    The sum of W(r) c(r) (Azzopardi and others 2019).

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels, run, words = {"q": {"a": 1}}, {"q": {"b": 3, "c": 2}}, {"b": 100, "c": 300}
    >>> ev = cf.evaluate(run, qrels, ["EC(P@2, unit=1)", "ETC(P@2, unit=1)"], lengths=words)
    >>> ev.by_system().row(0)[1:]
    (200.0, 400.0)
    """
    return _made("EC", measure, depth=depth, unit=unit, fixed=fixed, missing=missing)


@wrapper("ETC")
def ETC(  # noqa: N802
    measure: Measure | str,
    *,
    depth: int | None = None,
    unit: float | None = None,
    fixed: float = 0.0,
    missing: float | None = None,
) -> Measure:
    """Cost of all that is read: the expected total cost of a measure's user model.

    The sum of V(r) c(r); parameters as for :func:`EC`.
    """
    return _made("ETC", measure, depth=depth, unit=unit, fixed=fixed, missing=missing)


@wrapper("Depth")
def Depth(measure: Measure | str, *, depth: int | None = None) -> Measure:  # noqa: N802
    """Ranks that are read until the user stops: the sum of V(r), which is 1 / W(1).

    cwl_eval calls it expected items. Parameters as for :func:`EU`. A user who finds soon what is
    wanted stops early, so low is good; in static models it is the same for all runs.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.evaluate({"q": {"b": 1}}, {"q": {"b": 1}}, "Depth(RBP(p=0.9))").by_system().rows()
    [('run', 10.0...)]
    """
    return _made("Depth", measure, depth=depth)


@wrapper("Residual")
def Residual(measure: Measure | str, *, depth: int | None = None) -> Measure:  # noqa: N802
    """How much more a user could expect: what documents without a judgment may add to EU.

    EU with all unjudged documents, and all beyond the list or the cutoff, as relevant as can be;
    less EU with them as not relevant (Moffat and Zobel 2008, section 5; Moffat and others 2017).
    Users who find more may stop sooner, as the model says. Parameters as for :func:`EU`.

    Examples
    --------
    >>> import cranfield as cf
    >>> asked = ["Residual(P@4)", "Residual(RBP(p=0.5))"]
    >>> cf.evaluate({"q": {"a": 3, "x": 2}}, {"q": {"a": 1}}, asked).by_system().row(0)[1:]
    (0.75, 0.5)
    """
    return _made("Residual", measure, depth=depth)
