"""Which systems really differ: significance tests for topics by systems.

It knows only `Scores`, wherever they come from. What each test and each correction is stands in
`TESTS` and `CORRECTIONS`; :func:`compare` does any of them, for all pairs at once. The public names
stand in `__init__.pyi`; each loads its module when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
