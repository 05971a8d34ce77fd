"""Calls that are refused in one line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cranfield.base.errors import CranfieldError

Refusal = tuple[Callable[[], object], str]
"""A call, and words of the message, as a regular expression."""


def check_refused(*refusals: Refusal) -> None:
    for call, words in refusals:
        with pytest.raises(CranfieldError, match=words) as error:
            call()
        assert "\n" not in str(error.value)
