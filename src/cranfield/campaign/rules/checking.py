"""What opening a campaign leaves unread in its rules: measures, policies, topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cranfield.base.errors import CranfieldError, InputError
from cranfield.campaign.rules.task_rules import Rules, TaskRules
from cranfield.campaign.rules.topics import topic_ids


def check_rules(rules: Rules) -> None:
    """Check measures, options of judging and topics of all tasks; it loads what reads them.

    Raises
    ------
    InputError
        Naming the key.
    """
    from cranfield.collection.judged.policies import policies
    from cranfield.measures.grammar import parse_measures

    checks: dict[str, Callable[[TaskRules], Any]] = {
        "measures": lambda task: parse_measures(task.measures),
        "judging": lambda task: policies(**dict[str, Any](task.judging)),
        "topics": topic_ids,
    }
    for task in rules.tasks.values():
        for key, check in checks.items():
            try:
                check(task)
            except CranfieldError as error:
                raise InputError(
                    f"tasks.{task.name}.{key}: {error}", source=rules.source
                ) from error
