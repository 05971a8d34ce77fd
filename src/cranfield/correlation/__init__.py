"""How well two orders of the same things agree, and two rankings of different ones."""

from cranfield.base.border import close_border
from cranfield.correlation.rbo import RBO, rbo, rbo_of_runs, rbo_of_scores
from cranfield.correlation.tau import kendall_tau, tau_ap

__all__ = ["RBO", "kendall_tau", "rbo", "rbo_of_runs", "rbo_of_scores", "tau_ap"]


def __dir__() -> list[str]:
    return list(__all__)


close_border(__name__, __all__)
