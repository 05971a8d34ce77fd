"""Users instead of judges: query logs, online measures, interleaving, experiments, click models."""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
