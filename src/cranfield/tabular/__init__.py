"""Tables: one object for what people read, written as text, LaTeX, Markdown or HTML."""

from cranfield.tabular.content import Cell
from cranfield.tabular.frames import between, frame_html, from_frame, number
from cranfield.tabular.table import Table
from cranfield.tabular.text import text_table

__all__ = ["Cell", "Table", "between", "frame_html", "from_frame", "number", "text_table"]
