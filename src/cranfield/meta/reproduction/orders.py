"""How far two runs order the documents alike, topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.run import Run
from cranfield.correlation import rbo
from cranfield.meta.work.options import Proportion, Whole, check_options


def union_tau(first: Sequence[Any], second: Sequence[Any]) -> float:
    r"""Kendall's tau-b of two rankings over all documents of either.

    A document that a ranking lacks stands below all that it has, tied with the others it lacks.

    .. math:: \tau = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}}

    over pairs of documents in the union: P concordant, Q discordant, T tied in the first ranking
    only and U in the second only. Source: Kendall (1945), on the union of both rankings as in
    Breuer et al. (2020), section 3, who compare positions in it (:func:`position_tau`).

    Ids of documents, the best first, are given. Rankings of n documents that have none in common
    have -2n / (3n - 1); the result is NaN if one is empty.

    Examples
    --------
    >>> round(union_tau(["a", "b"], ["c", "d"]), 4)
    -0.8
    """
    _, ranks = _joined(first, second)
    return _tau_of(*ranks)


def position_tau(first: Sequence[Any], second: Sequence[Any]) -> float:
    r"""Kendall's tau Union, as repro_eval computes it: for comparison with its values.

    The union of both rankings is put in order of document id. Each ranking becomes the list of
    its documents' positions there, and the result is Kendall's tau of the two lists, rank by rank.

    .. math:: \mathrm{KTU} = \tau\bigl((u(r_1), \ldots, u(r_n)), (u(r'_1), \ldots, u(r'_n))\bigr)

    with u(d) the position of document d in the union. Source: Breuer et al. (2020), section 3.

    It compares what stands at the same rank, so it depends on how documents are called: one
    document that is missing shifts all below it, and names in random order then give about 0.
    :func:`union_tau` does not depend on the names.

    Documents of the longer one below the last rank of the other are left out, for they have no
    counterpart; the result is NaN where fewer than two ranks can be compared.

    Examples
    --------
    >>> round(position_tau(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    _, ranks = _joined(first, second)
    return _position_tau_of(*ranks)


def order_agreement(
    original: Any,
    reproduced: Any,
    *,
    p: Proportion = 0.9,
    depth: Annotated[int | None, Whole(1)] = None,
    ties: str = "trec",
) -> pl.DataFrame:
    """Compare the order of documents in two runs; `ties` are as for :func:`cranfield.judge`.

    Returns a row a topic of either run, those of the original first: `topic`; `tau`
    (:func:`union_tau`); `KTU` (:func:`position_tau`); `RBO`, rank-biased overlap, extrapolated
    (Webber, Moffat and Zobel 2010, equation 32) with persistence p; `original` and `reproduced`,
    the numbers of documents; and `shared`, how many are in both. Without documents on one side
    there is nothing to compare, and the first three are null.

    Examples
    --------
    >>> first = {"q1": {"a": 3, "b": 2, "c": 1}}
    >>> again = {"q1": {"a": 3, "c": 2, "d": 1}, "q2": {"a": 1}}
    >>> found = order_agreement(first, again)
    >>> found["tau"].to_list(), found["RBO"].round(4).to_list(), found["shared"].to_list()
    ([0.333..., None], [0.685, None], [2, 0])
    """
    check_options(order_agreement, locals())
    first, second = read_run(original), read_run(reproduced)
    both = _ranked(first, ties, depth).join(
        _ranked(second, ties, depth), on=["topic", "doc"], how="full", coalesce=True, suffix=" 2"
    )
    # In order of id within a topic, which is the order of the union for the tau of positions.
    both = both.sort("topic", "doc")
    topics = both["topic"].rle().struct.unnest()
    ends = np.cumsum(topics["len"].to_numpy()).tolist()
    ranks = [both[name].to_numpy().astype(np.float64) for name in ("rank", "rank 2")]
    docs = both["doc"].to_numpy()
    rows = {}
    for topic, start, end in zip(topics["value"], [0, *ends[:-1]], ends, strict=True):
        x, y = (one[start:end] for one in ranks)
        rows[topic] = (topic, *_agreement(docs[start:end], x, y, p))
    order = dict.fromkeys([*first.topics, *second.topics])
    return pl.DataFrame(
        [rows[topic] for topic in order],
        schema={
            "topic": pl.String,
            **dict.fromkeys(("tau", "KTU", "RBO"), pl.Float64),
            **dict.fromkeys(("original", "reproduced", "shared"), pl.Int64),
        },
        orient="row",
    )


def _ranked(run: Run, ties: str, depth: int | None) -> pl.DataFrame:
    ranks = order_of(run, ties).ranks_of(np.arange(len(run), dtype=np.intp))
    topics = pl.Series(run.topics, dtype=pl.String).gather(run.codes)
    frame = pl.DataFrame({"topic": topics, "doc": run.docs, "rank": ranks})
    return frame if depth is None else frame.filter(pl.col("rank") <= depth)


def _agreement(
    docs: NDArray[Any], x: Floats, y: Floats, p: float
) -> tuple[float | None, float | None, float | None, int, int, int]:
    """Compare the ranks of the documents of one topic; NaN is a document that is not there."""
    has, had = ~np.isnan(x), ~np.isnan(y)
    sizes = int(has.sum()), int(had.sum()), int((has & had).sum())
    if not sizes[0] or not sizes[1]:
        return None, None, None, *sizes
    first, second = (docs[_order(ranks)].tolist() for ranks in (x, y))
    found = (_tau_of(x, y), _position_tau_of(x, y), rbo(first, second, p=p).ext)
    tau, ktu, overlap = (None if np.isnan(one) else one for one in found)
    return tau, ktu, overlap, *sizes


def _joined(first: Sequence[Any], second: Sequence[Any]) -> tuple[list[Any], list[Floats]]:
    """Return the union of two rankings, and the ranks of its documents in each."""
    if isinstance(first, str) or isinstance(second, str):
        raise PolicyError("a ranking is a sequence of document ids, not a text")
    places = []
    for ranking in (list(first), list(second)):
        place = {doc: float(rank) for rank, doc in enumerate(ranking, 1)}
        if len(place) < len(ranking):
            twice = next(doc for doc in ranking if ranking.count(doc) > 1)
            raise CranfieldError(f"document {quoted(twice)} stands twice in a ranking")
        places.append(place)
    union = sorted({**places[0], **places[1]})
    return union, [np.array([place.get(doc, np.nan) for doc in union]) for place in places]


def _order(ranks: Floats) -> NDArray[np.intp]:
    """Return where the documents of a ranking stand in the union, the best first."""
    return np.argsort(ranks, kind="stable")[: int((~np.isnan(ranks)).sum())]


def _tau_of(x: Floats, y: Floats) -> float:
    """Kendall's tau-b of ranks, where NaN is below all others."""
    if np.isnan(x).all() or np.isnan(y).all():
        return float("nan")
    if np.array_equal(x, y, equal_nan=True):
        return 1.0
    return _tau(np.nan_to_num(x, nan=x.size + 1.0), np.nan_to_num(y, nan=y.size + 1.0))


def _position_tau_of(x: Floats, y: Floats) -> float:
    first, second = _order(x), _order(y)
    ranks = min(first.size, second.size)
    if ranks and np.array_equal(first, second):
        return 1.0
    if ranks < 2:
        return float("nan")
    return _tau(first[:ranks].astype(np.float64), second[:ranks].astype(np.float64))


def _tau(x: Floats, y: Floats) -> float:
    # In n log n: the rankings of a run are long, where cranfield.correlation compares all pairs.
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)
