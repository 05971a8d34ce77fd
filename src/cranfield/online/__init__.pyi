"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .log.query_log import QueryLog as QueryLog
from .log.reading import read_log as read_log
from .log.simulated import simulated_log as simulated_log
