"""Tables for papers: evaluations, comparisons and analyses of variance."""

from cranfield.report.tables.evaluations import evaluation_table, topics_table
from cranfield.report.tables.make import table

__all__ = ["evaluation_table", "table", "topics_table"]
