"""How well two orders of the same things agree."""

from cranfield.correlation.kendall import kendall_tau

__all__ = ["kendall_tau"]
