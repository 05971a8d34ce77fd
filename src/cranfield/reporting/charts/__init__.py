"""Functions that draw results as Altair charts.

Modules of charts are loaded on first use, as some import the studies, which are slow to load.
Altair is part of the extra `charts`.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name != "altair":
            raise
        from .saving import check_extra

        check_extra("json")
        raise
