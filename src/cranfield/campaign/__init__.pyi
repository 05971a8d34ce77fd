"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .campaign_folder import Campaign as Campaign, create as create, open as open
from .checks.report import CheckReport as CheckReport, Fault as Fault
from .rules.task_rules import Rules as Rules, TaskRules as TaskRules
from .store.records import Event as Event, Submission as Submission, Team as Team
