"""Names that other tools have for what is here: asked before any name that is near by letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_GRADE = "a parameter of a measure, as in measures='AP(rel=2)'"
_CUTOFF = "a cutoff of a measure, as in measures='nDCG@10'"
_WRITERS = "to_text(), to_latex(), to_markdown() or to_html()"

_HABITS: tuple[tuple[str, str, str], ...] = (
    # Arguments.
    ("measures", "metrics metric evaluator evaluators", ""),
    ("jobs", "threads workers n_jobs n_workers num_workers nproc processes", ""),
    ("runs", "results run systems predictions", ""),
    ("qrels", "judgments judgements ground_truth", ""),
    ("measures", "rel min_rel rel_lvl relevance_level rel_level", _GRADE),
    ("cutoffs", "k ks cutoff k_values", ""),
    ("norm", "k rrf_k", "a parameter of the method, as in method='RRF(k=10)'"),
    ("measures", "k ks cutoff cutoffs top_k topk", _CUTOFF),
    ("unjudged", "judged_docs_only_flag judged_only judged_docs_only", "unjudged='condensed'"),
    ("topics", "make_comparable complete_rel_info", "topics='qrels'"),
    ("runs", "format encoding separator numbers", "runs=cf.read_runs(..., {name}=...)"),
    ("test", "stat_test method", ""),
    ("alpha", "max_p level significance_level", ""),
    ("resamples", "n_permutations permutations n_resamples n_boot", ""),
    ("seed", "random_seed random_state", ""),
    ("correction", "p_adjust adjust", ""),
    ("places", "decimals digits precision round ndigits", ""),
    ("best", "bold highlight", ""),
    ("places", "format style", "to_latex(), to_markdown() or to_html() of the table"),
    ("systems", "title", "chart.properties(title=...)"),
    ("self", "axis dtype out", "its array, as in np.mean(scores.values)"),
    # Attributes.
    ("means", "mean average averages aggregate aggregated", ""),
    ("mean", "means average averages", ""),
    ("over_shards", "to_numpy numpy array to_array", "values"),
    ("over_shards", "shape ndim size", "values.{name}"),
    ("to_polars", "to_df to_frame to_dataframe df frame dataframe to_numpy", ""),
    ("to_polars", "per_query by_query by_topic per_topic topic_scores", ""),
    ("write_csv", "to_csv save_csv save export", "write_csv(path)"),
    ("to_polars", "to_csv save_csv save export", "to_polars().write_csv(path)"),
    ("to_markdown", "to_csv save write export to_string", _WRITERS),
    ("adjusted_pvalues", "pvalue p_value p_values pval pvals p", ""),
    ("effect", "effect_size effect_sizes", ""),
    ("top_group", "best winner winners", ""),
    ("ranking", "summary leaderboard", ""),
    # Names of the package, and of measures.
    ("compare", "ttest t_test ttest_rel significance_test", "compare(scores, test='t')"),
    ("charts", "plot plots plotting", "charts"),
    ("evaluate", "evaluator relevanceevaluator calc_aggregate iter_calc", ""),
    ("AP", "map mean_average_precision", ""),
    ("RR", "mrr", ""),
    ("RougeN", "rouge1 rouge-1 rouge_1", ""),
    ("RougeN", "rouge2 rouge-2 rouge_2", "RougeN(n=2)"),
    # Values.
    ("z-score", "zmuv zscore", ""),
    ("trec_eval-9", "pytrec_eval pytrec-eval", ""),
    ("CombSUM", "weighted_sum weightedsum", "CombSUM with weights"),
)
"""What has to be there, what others call it, and what is said instead of its name, if anything."""


def meant(name: object, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """Say what is meant by a name of another tool, where that is there; or nothing.

    Examples
    --------
    >>> meant("metrics", ["topics", "measures"]), meant("metrics", ["topics"])
    ('measures', '')
    """
    asked = str(name).casefold()
    there = {one.casefold(): one for one in known}
    for needed, names, said in _HABITS:
        found = there.get(needed.casefold())
        if found is not None and asked in names.split():
            return said.format(name=name) if said else shown(found)
    return ""
