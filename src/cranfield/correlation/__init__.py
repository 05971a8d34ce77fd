"""How well two orders of the same things agree, and two rankings of different ones."""

from cranfield.correlation.overlap import RBO, rbo, rbo_of_runs, rbo_of_scores
from cranfield.correlation.tau import kendall_tau, tau_ap

__all__ = ["RBO", "kendall_tau", "rbo", "rbo_of_runs", "rbo_of_scores", "tau_ap"]


def __dir__() -> list[str]:
    return list(__all__)
