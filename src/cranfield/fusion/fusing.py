"""Fusion of runs into one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, remove_noise
from cranfield.base.errors import (
    ArgumentError,
    InputError,
    PolicyError,
    check_choice,
    check_list,
    quote,
    warn,
)
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.parallel import count_threads, iterate_results
from cranfield.base.spec import format_parameters, get_summary
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.many_runs import make_distinct_names, read_runs
from cranfield.collection.judged.each_run import Progress, map_runs
from cranfield.collection.metadata.reading import MetadataLocation, find_header
from cranfield.collection.pairs import Codes
from cranfield.collection.policies import TIES, TieOrder
from cranfield.collection.run import Run
from cranfield.fusion.methods import FUSIONS, NORMS, Fusion, check_finite_scores
from cranfield.fusion.rankings import (
    NumberedTop,
    Rankings,
    RunTop,
    describe_runs,
    list_topics,
    number_jointly,
    select_top_rows,
    warn_of_runs,
)
from cranfield.sources.chunks import Origin

DEFAULT_METHOD = "RRF"
DEFAULT_NORM = "min-max"
DEFAULT_LIMIT = 1000
_BLOCK_ROWS = 1 << 17  # number of rows to fuse at a time, so that they fit into processor caches

_FusedRows = tuple[Codes, pl.Series, Floats, NDArray[np.int32]]  # Topics, docs, scores, ranks


def fuse(
    runs: Any,
    method: str | Fusion = DEFAULT_METHOD,
    *,
    norm: Annotated[str | None, OneOf(tuple(NORMS))] = None,
    weights: Sequence[float] | Floats | Mapping[str, float] | None = None,
    depth: Annotated[int | None, Integer(1)] = None,
    limit: Annotated[int | None, Integer(1)] = DEFAULT_LIMIT,
    ties: TieOrder = "trec",
    name: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Fuse several runs into one.

    Parameters
    ----------
    runs
        At least two runs, in any form that :func:`cranfield.read_runs` accepts.
    method
        Fusion method, such as `RRF`, `RRF(k=10)`, `CombSUM`, `Borda` or `RBC(p=0.9)`. All methods
        are listed by :func:`fusion_methods`.
    norm
        Normalisation of the scores of each run and topic, for methods that use scores. By default
        `min-max`.
    weights
        Weights of the runs, above 0, in their order or by name; not for `Condorcet`. Default: 1.
    depth
        Number of top documents to use from each ranking. By default all.
    limit
        Maximum number of documents per topic in the fused run. None means no limit.
    ties
        Order of documents with equal scores in the runs. See :func:`cranfield.judge`. Documents are
        ranked by scores, except with `rank` (by the rank column) and `file` (as in the input).
    name
        Name of the fused run; by default the method, such as `RRF(k=10)`.
    jobs, progress
        As for :func:`cranfield.judge`.

    Returns
    -------
    Run
        The documents of each topic in order, with fused scores and ranks. The topics are those of
        all runs; the metadata describe the method and the runs.

    Raises
    ------
    InputError
        For fewer than two runs, equal names, unreadable runs, or norm `max` and a topic of a run
        without a score above 0.
    PolicyError
        For an unknown method, unknown or unused options, invalid weights, or infinite fused scores.

    Notes
    -----
    A run that does not rank a document has no effect on the score of the document, with exceptions
    if the run ranks other documents of the topic: with method `Borda` or norm `borda` the run gives
    the document the mean of the remaining points, which counts like a score of a ranked document;
    with `CombMIN` and `CombMED` it gives the document a score of 0, unless `absent` is `out`; with
    `Condorcet` it votes for the documents that it ranks. Fused scores are rounded to 12 significant
    digits, so that equal sums are tied. Ties are broken by descending document id, as by trec_eval.

    Sources: Cormack, Clarke and Büttcher (2009); Fox and Shaw (1994); Lee (1997); Aslam and
    Montague (2001); Montague and Aslam (2001, 2002); Renda and Straccia (2003); Mourão, Martins and
    Magalhães (2015); Bailey, Moffat, Scholer and Thomas (2017).

    Examples
    --------
    >>> import cranfield as cf
    >>> bm25 = {"q": {"x": 12.0, "y": 9.0, "z": 2.0}}
    >>> dense = {"q": {"y": 0.9, "w": 0.8}}
    >>> fused = cf.fuse({"bm25": bm25, "dense": dense}, "rrf")
    >>> fused
    Run('RRF': 1 topic, 4 documents)
    >>> fused.to_polars()["doc"].to_list()
    ['y', 'x', 'w', 'z']
    >>> weighted = cf.fuse({"bm25": bm25, "dense": dense}, "CombSUM", weights=[0.3, 0.7])
    >>> weighted.to_polars()["score"].to_list()
    [0.91, 0.3, 0.0, 0.0]
    """
    check_arguments(fuse, locals())
    check_list("weights", weights)
    if not isinstance(method, (str, Fusion)):
        raise ArgumentError(
            f"method must be a fusion method or its text form, got {type(method).__name__}; pass"
            " several runs as a list or dict: cf.fuse({'bm25': run_1, 'dense': run_2})"
        )
    fusion = FUSIONS.parse(method)
    if norm is not None and not fusion.uses_scores:
        raise PolicyError(f"norm requires a method that uses scores, got {fusion.name} (ranks)")
    check_choice("ties", ties, TIES)
    if name is not None and not str(name).strip():
        raise PolicyError(f"name must not be blank, got {quote(name)}")
    if isinstance(weights, np.ndarray):
        weights = weights.tolist()
    collection = read_runs(runs)
    if len(collection) < 2:
        raise InputError(f"fusion requires at least 2 runs, got {len(collection)}")
    if weights is not None and not fusion.accepts_weights:
        raise PolicyError(f"weights cannot be combined with method {fusion.name}")
    if not isinstance(weights, (Sequence, Mapping, type(None))):
        raise PolicyError(
            f"weights must be a list of numbers, or a dict by name of run, got {quote(weights)}"
        )
    select_top = partial(select_top_rows, depth=depth, ties=ties, uses_scores=fusion.uses_scores)
    tops = list(map_runs(collection, select_top, progress, jobs=jobs))
    names = make_distinct_names([run.name for run in tops], [run.stem for run in tops])
    warn_of_runs(names, tops)
    run_weights = _read_weights(weights, names)
    topics = list_topics(tops)
    _warn_of_single_topics(tops, topics)
    _warn_of_scores(fusion, norm, names, tops)
    numbered_tops, ids = number_jointly(tops, topics)
    if depth is None or depth >= _MIN_DEPTH:
        _warn_of_isolated_runs(names, numbered_tops, ids)
    name = name or str(fusion).replace(" ", "")

    def fuse_block(block: tuple[int, list[NumberedTop], Sequence[str]]) -> _FusedRows:
        first, block_tops, block_topics = block
        rankings = Rankings.from_tops(block_tops, names, block_topics, 0, ids)
        with np.errstate(over="ignore", invalid="ignore"):
            values = fusion.score_documents(rankings, run_weights, norm or DEFAULT_NORM)
            scores = remove_noise(check_finite_scores(values))
        # Documents of a topic are sorted by id; the reversal ranks ties by id in descending order.
        rows = scores.size - 1 - np.lexsort((-scores[::-1], rankings.topic[::-1]))
        rank = np.arange(scores.size) - rankings.starts[rankings.topic] + 1
        if limit is not None:
            rows, rank = rows[rank <= limit], rank[rank <= limit]
        codes = rankings.topic[rows] + np.int32(first)
        return codes, rankings.docs[rows], scores[rows], rank.astype(np.int32)

    blocks = (
        (first, [run.slice_topics(first, stop) for run in numbered_tops], topics[first:stop])
        for first, stop in _iterate_topic_blocks(numbered_tops, len(topics))
    )
    fused_blocks = list(iterate_results(fuse_block, blocks, jobs or count_threads()))
    del numbered_tops
    codes, docs, scores, ranks = zip(*fused_blocks, strict=True)
    return Run(
        name=name,
        topics=tuple(topics),
        codes=np.concatenate(codes),
        docs=pl.concat(docs),
        scores=np.concatenate(scores),
        ranks=np.concatenate(ranks),
        origin=Origin(name),
        metadata_source=_describe_fusion(
            name, fusion, norm, names, weights is not None, run_weights
        ),
    )


def fusion_methods() -> pl.DataFrame:
    """List the fusion methods: name, input, parameters, other names, summary and source.

    Examples
    --------
    >>> fusion_methods().filter(pl.col("method") == "RRF").select("uses", "parameters").rows()
    [('ranks', 'k=60')]
    """
    return FUSIONS.tabulate(
        "method",
        {
            "uses": lambda kind: "scores" if kind.uses_scores else "ranks",
            "parameters": format_parameters,
            "other names": lambda kind: ", ".join(FUSIONS.find_aliases(kind.name)),
            "what it does": get_summary,
            "source": attrgetter("source"),
        },
    )


def _read_weights(
    weights: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]
) -> Floats:
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        unknown_runs = [name for name in weights if name not in names]
        missing_runs = [name for name in names if name not in weights]
        if unknown_runs or missing_runs:
            reason = "got a weight for unknown run" if unknown_runs else "got no weight for run"
            raise PolicyError(
                f"expected a weight for each of: {', '.join(names)}; {reason}"
                f" {quote((unknown_runs or missing_runs)[0])}"
            )
        weights = [weights[name] for name in names]
    if len(weights) != len(names):
        raise PolicyError(f"expected {len(names)} weights, one for each run, got {len(weights)}")
    try:
        values = np.array([float(weight) for weight in weights])
    except (TypeError, ValueError):
        values = np.zeros(1)
    if not (np.isfinite(values) & (values > 0)).all():
        raise PolicyError(f"weights must be finite numbers above 0, got {quote(list(weights))}")
    return values


def _warn_of_single_topics(tops: Sequence[RunTop], topics: Sequence[str]) -> None:
    """Warn of topics that only one run has, unless this run has no common topic at all."""
    n_runs = Counter(topic for top in tops for topic in top.topics)
    overlapping_tops = [top for top in tops if any(n_runs[topic] > 1 for topic in top.topics)]
    run_topics = {topic for top in overlapping_tops for topic in top.topics}
    single_topics = [topic for topic in topics if topic in run_topics and n_runs[topic] == 1]
    if single_topics:
        verb = "is" if len(single_topics) == 1 else "are"
        names = list_some(map(quote, single_topics), 3)
        warn(
            f"{len(single_topics)} of {inflect(len(topics), 'topic')} {verb} in one run only"
            f" ({names}), so that a single run determines the fused ranking"
        )


_MIN_DEPTH = 10  # depth from which rankings of one collection should have documents in common
_MANY_TIES = 0.5  # proportion of tied documents above which ids determine most ranks


def _warn_of_scores(
    fusion: Fusion, norm: str | None, names: Sequence[str], tops: Sequence[RunTop]
) -> None:
    """Warn of mostly tied scores, of missing scores, and of scores below 0 without a norm."""
    tied_runs = [k for k, top in enumerate(tops) if top.tied_proportion > _MANY_TIES]
    if tied_runs and not fusion.uses_scores:
        most_tied_run = max(tied_runs, key=lambda k: tops[k].tied_proportion)
        proportion = f"{tops[most_tied_run].tied_proportion:.0%}"
        warn(
            f"{describe_runs(tied_runs, names)} mostly tied scores ({proportion} of the documents"
            f" of {quote(names[most_tied_run])}), so that document ids determine most ranks;"
            " ties='rank' or ties='input' keeps the order of the run"
        )
    unscored_runs = [k for k, top in enumerate(tops) if not top.has_scores]
    if unscored_runs and norm not in {"rank", "borda"}:
        warn(
            f"{describe_runs(unscored_runs, names)} no scores ({quote(names[unscored_runs[0]])}),"
            f" so that {fusion.name} uses negated ranks as scores; use norm='rank', or a method"
            " that uses ranks, such as RRF"
        )
    negative_runs = [k for k, top in enumerate(tops) if top.has_scores and (top.scores < 0).any()]
    if negative_runs and norm == "none":
        warn(
            f"{describe_runs(negative_runs, names)} scores below 0"
            f" ({quote(names[negative_runs[0]])}), so that with norm 'none' a ranked document may"
            " score less than without this run; norm='min-max' avoids this"
        )


def _warn_of_isolated_runs(
    names: Sequence[str], tops: Sequence[NumberedTop], ids: pl.Series
) -> None:
    """Warn of runs that have no document in common with any other run."""
    n_runs = np.zeros(len(ids), dtype=np.int64)
    for top in tops:
        n_runs[np.unique(top.docs)] += 1
    nonempty_runs = [k for k, top in enumerate(tops) if top.docs.size]
    isolated_runs = [k for k in nonempty_runs if (n_runs[tops[k].docs] == 1).all()]
    if isolated_runs and len(nonempty_runs) > 1:
        k = isolated_runs[0]
        example = f"{quote(names[k])} has {quote(ids[int(tops[k].docs[0])])}"
        warn(
            f"{describe_runs(isolated_runs, names)} no document in common with any other run"
            f" ({example}); check that document ids have the same form in all runs"
        )


def _iterate_topic_blocks(tops: Sequence[NumberedTop], n_topics: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of blocks of topics with about `_BLOCK_ROWS` rows each."""
    ends = np.sum([top.starts[1:] for top in tops], axis=0)
    first = 0
    while first < n_topics:
        n_before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, n_before + _BLOCK_ROWS, "right")))
        yield first, stop
        first = stop


def _describe_fusion(
    name: str,
    method: Fusion,
    norm: str | None,
    names: Sequence[str],
    has_weights: bool,
    weights: Floats,
) -> MetadataLocation:
    from cranfield.collection.metadata.metadata import Metadata

    runs = [
        f"{run} ({weight:g})" if has_weights else run
        for run, weight in zip(names, weights, strict=True)
    ]
    norm_text = f", scores normalised by {norm or DEFAULT_NORM}" if method.uses_scores else ""
    description = f"{method}{norm_text}, of {', '.join(runs)}"
    method_entry = {"name": f"fusion by {method}", "description": description}
    text = Metadata({"tag": name, "method": method_entry}).to_yaml().rstrip("\n")
    lines = ("ir_metadata.start", *text.split("\n"), "ir_metadata.end")
    header = "".join(f"# {line}\n" for line in lines)
    return MetadataLocation(find_header(header.encode(), name), tag=name)
