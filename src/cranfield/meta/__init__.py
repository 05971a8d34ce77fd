"""Evaluating the evaluation: how good the tests, the measures and the collection are.

The public names stand in `__init__.pyi`; each loads its module when it is first used.
"""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
