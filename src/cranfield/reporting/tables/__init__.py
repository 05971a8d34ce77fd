"""Tables for papers: evaluations, comparisons and analyses of variance."""

from cranfield.reporting.tables.results_table import table
from cranfield.reporting.tables.scores_table import evaluation_table, topics_table

__all__ = ["evaluation_table", "table", "topics_table"]
