"""Collections: judgments, runs, and judged runs, which are both together."""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
