"""Draw the pictures of the gallery of charts, by running the code that the page shows.

python -m studies.gallery [-o docs/images/gallery]
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import re
import shutil
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "gallery.md"
SESSION = re.compile(r"(?ms)^```pycon\n(.*?)^```")
LARGEST = 150_000
"""Bytes of a picture, at most: the page loads all of them."""


def main() -> None:
    """Run the page's code in a folder of its own, and keep the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=PAGE.parent / "images" / "gallery")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    code = "".join(
        example.source
        for session in SESSION.findall(page)
        for example in doctest.DocTestParser().get_examples(session)
    )
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.chdir(folder):
            exec(compile(code, str(PAGE), "exec"), {"__name__": "gallery"})
        for picture in sorted(Path(folder).glob("*.svg")):
            size = picture.stat().st_size
            print(f"{picture.name}  {size:,} bytes")
            if size > LARGEST:
                raise SystemExit(f"{picture.name} is larger than {LARGEST:,} bytes")
            shutil.copy(picture, given.output / picture.name)


if __name__ == "__main__":
    main()
