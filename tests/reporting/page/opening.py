"""Open a page in a browser, which is to be silent and to load nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Opened:
    """A page, and all that it complained of or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def go(self, path: Path, address: str = "") -> None:
        """Go to a page; to go on from another is cheaper than to open it."""
        self.requests.clear()
        self.page.goto(path.as_uri() + address)
        assert [url.partition("#")[0] for url in self.requests] == [path.as_uri()]
        assert self.complaints == []


def opened(browser: Any, path: Path, address: str = "", **options: Any) -> Opened:
    """Open it with what follows the # of its address."""
    one = Opened(browser.new_page(**options))
    one.page.on("console", lambda message: one.complaints.append(message.text))
    one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
    one.page.on("request", lambda request: one.requests.append(request.url))
    one.go(path, address)
    return one
