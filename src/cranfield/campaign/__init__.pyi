"""The public names, imported on first use."""

# isort: skip_file
from .campaign_folder import Campaign as Campaign, create as create, open as open
from .checks.checking import check_run as check_run
from .checks.report import CheckReport as CheckReport, Fault as Fault
from .results.history import History as History, history as history
from .results.sheet import Sheet as Sheet
from .results.topic_statistics import (
    TopicStatistics as TopicStatistics,
    topic_statistics as topic_statistics,
)
from .rules.reading import read_rules as read_rules
from .rules.task_rules import Rules as Rules, TaskRules as TaskRules
from .store.records import Event as Event, Submission as Submission, Team as Team
from .store.folder import Finding as Finding, Verification as Verification
