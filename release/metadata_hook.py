"""What only the place of a release knows, put into the metadata of wheel and sdist.

The workflow of a release says in the environment where the project lives (`PROJECT_URL`) and whom
to write to (`PROJECT_EMAIL`). Builds elsewhere say nothing of either, and are the same otherwise.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

AUTHOR = "The cranfield developers"

PAGES = {
    "Documentation": "blob/{tag}/docs/index.md",
    "Source": "tree/{tag}",
    "Changelog": "blob/{tag}/CHANGELOG.md",
    "Issues": "issues",
}
"""Links of the index, besides the home page."""


def linked(readme: str, place: str) -> str:
    """Let links to files of the repository lead there from elsewhere; `place` ends with the tag.

    Examples
    --------
    >>> linked("![a](docs/a.png) [b](docs/b.md) [c](https://c.org)", "https://x.org/y/{}/v1")
    '![a](https://x.org/y/raw/v1/docs/a.png) [b](https://x.org/y/blob/v1/docs/b.md) [c](https://c.org)'
    """

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found["mark"] else "blob"
        return f"{found['mark']}[{found['text']}]({place.format(kind)}/{found['path']})"

    return re.sub(
        r"(?P<mark>!?)\[(?P<text>[^]]*)\]\((?P<path>(?!\w+:|#)[^)\s]+)\)", absolute, readme
    )


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        url = os.environ.get("PROJECT_URL", "").rstrip("/")
        email = os.environ.get("PROJECT_EMAIL", "")
        tag = f"v{metadata['version']}"
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if url:
            readme = linked(readme, f"{url}/{{}}/{tag}")
            pages = {name: f"{url}/{page.format(tag=tag)}" for name, page in PAGES.items()}
            metadata["urls"] = {"Homepage": url, **pages}
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
        metadata["authors"] = [{"name": AUTHOR, **({"email": email} if email else {})}]
