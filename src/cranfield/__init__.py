"""Evaluate information retrieval systems: from runs and judgments to meaningful statements.

The public names stand in `__init__.pyi`; each loads its module when it is first used.
"""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
