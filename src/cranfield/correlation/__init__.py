"""Rank correlations of items, and rank-biased overlap of rankings with different items."""

from cranfield.correlation.overlap import RBO, rbo, rbo_of_runs, rbo_of_scores
from cranfield.correlation.tau import kendall_tau, tau_ap

__all__ = ["RBO", "kendall_tau", "rbo", "rbo_of_runs", "rbo_of_scores", "tau_ap"]


def __dir__() -> list[str]:
    return list(__all__)
