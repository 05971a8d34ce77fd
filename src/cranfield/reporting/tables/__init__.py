"""Tables for papers: evaluations, comparisons and analyses of variance."""

from cranfield.reporting.tables.evaluations import evaluation_table, topics_table
from cranfield.reporting.tables.make import table

__all__ = ["evaluation_table", "table", "topics_table"]
