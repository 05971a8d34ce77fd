"""Extension of the Python reference: formulas of docstrings become formulas of Markdown."""

from __future__ import annotations

from typing import Any

from catalogue_page import marked
from griffe import Extension, Object


class Formulas(Extension):
    """Rewrites docstrings before their sections are parsed."""

    def on_object(self, *, obj: Object, **options: Any) -> None:
        del options
        if obj.docstring is not None and "math:" in obj.docstring.value:
            obj.docstring.value = marked(obj.docstring.value)
