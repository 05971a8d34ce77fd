"""Where judgments come from: pools, samples, crowds and LLM judges."""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
