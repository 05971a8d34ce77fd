"""Measurement scales: scales, images of measures, interval-scaled measures, statements.

The public names are listed in `__init__.pyi`; each loads its module when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
