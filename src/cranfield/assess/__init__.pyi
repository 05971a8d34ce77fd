"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .labels.reading import read_labels as read_labels
from .labels.table import Labels as Labels
from .pools.pool import Pool as Pool, Unjudged as Unjudged, pool as pool
