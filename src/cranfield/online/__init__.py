"""Users instead of judges: query logs, online measures, interleaving, experiments, click models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
