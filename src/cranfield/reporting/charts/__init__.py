"""Charts: each a function of results that returns an Altair chart.

A chart loads its module when it is first used: some draw results of studies, which are heavy.
"""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
