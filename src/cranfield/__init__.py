"""Evaluate information retrieval systems: from runs and judgments to meaningful statements.

The public names are declared in `__init__.pyi`; each is imported on first use.
"""

from functools import partial
from importlib import import_module

import lazy_loader

from cranfield.base import showing

showing.LOADERS["charts"] = partial(import_module, "cranfield.reporting.charts.registry")
showing.LOADERS["measures"] = partial(import_module, "cranfield.measures.grammar")
showing.LOADERS["prose"] = partial(import_module, "cranfield.reporting.prose")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
