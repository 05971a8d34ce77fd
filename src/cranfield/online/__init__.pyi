"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .log.query_log import QueryLog as QueryLog
