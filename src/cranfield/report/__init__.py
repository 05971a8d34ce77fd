"""What people see: results that others computed, as text, tables and files."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    """This package, which is also the function that writes a report.

    `cranfield.report` is the name of both. A package in the place of the function, or the reverse,
    would depend on what was imported first.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Write a report; see :func:`cranfield.report.page.report`."""
        from cranfield.report.page import report

        return report(*args, **options)


sys.modules[__name__].__class__ = _Report
