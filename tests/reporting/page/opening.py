"""Open a page in a browser, which is to be silent and to load nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any


@dataclass
class Opened:
    """A page, and all that it complained of or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def go(self, path: Path, address: str = "") -> None:
        """Go to a page."""
        self.requests.clear()
        self.page.goto(path.as_uri() + address)
        assert [url.partition("#")[0] for url in self.requests] == [path.as_uri()]
        assert self.complaints == []


@dataclass
class Tab:
    """The only tab of a browser, and what was opened in it last."""

    page: Any
    latest: Opened

    def complain(self, text: str) -> None:
        """Record a complaint of the page."""
        self.latest.complaints.append(text)

    def refuse(self, dialog: Any) -> None:
        """Record a dialog, which would stop the page until it is closed."""
        self.complain(dialog.message)
        dialog.dismiss()


@lru_cache(maxsize=1)
def only_tab(browser: Any) -> Tab:
    """Open the tab that all tests of a module share: each tab starts a process."""
    page = browser.new_page()
    tab = Tab(page, Opened(page))
    page.on("console", lambda message: tab.complain(message.text))
    page.on("pageerror", lambda error: tab.complain(str(error)))
    page.on("dialog", tab.refuse)
    page.on("request", lambda request: tab.latest.requests.append(request.url))
    return tab


def opened(
    browser: Any,
    path: Path,
    address: str = "",
    viewport: dict[str, int] | None = None,
    color_scheme: str = "light",
) -> Opened:
    """Open it with what follows the # of its address, in place of the page before."""
    tab = only_tab(browser)
    tab.page.mouse.move(0, 0)
    # From one # to another on the same page, a browser loads nothing.
    tab.page.goto("about:blank")
    tab.page.emulate_media(media="null", color_scheme=color_scheme)
    tab.page.set_viewport_size(viewport or {"width": 1280, "height": 720})
    tab.latest = Opened(tab.page)
    tab.latest.go(path, address)
    return tab.latest
