"""Charts: each a function of results that returns an Altair chart.

A chart loads its module when it is first used: some draw results of studies, which are heavy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
