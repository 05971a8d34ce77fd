"""Significance tests of systems, by their scores on the same or on different topics.

The functions take `Scores`. `TESTS` and `CORRECTIONS` describe each test and each correction for
multiple comparisons; :func:`compare` applies them to all pairs of systems.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
