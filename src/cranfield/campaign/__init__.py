"""The life of a campaign: rules, submissions, checks, sheets, releases, boards."""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
