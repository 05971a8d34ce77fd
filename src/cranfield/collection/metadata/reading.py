"""Read metadata: of a header, of a file, or of what stands beside a run."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, warn
from cranfield.collection.metadata.header import LARGEST, Header, header_of

if TYPE_CHECKING:
    from cranfield.collection.metadata.metadata import Metadata

BESIDE = "ir-metadata.yml"
"""The file beside a run, alone or after the run's own name and a full stop."""


def read_metadata(data: str | PathLike[str] | bytes | Header) -> Metadata | None:
    """Read the metadata of a run.

    Parameters
    ----------
    data
        A file: YAML (`.yml`, `.yaml`), or a run, packed or not, whose header it is; or the YAML
        itself, as bytes.

    Returns
    -------
    Metadata or None
        None for a run without a header.

    Raises
    ------
    InputError
        Naming the file and the line: what is no YAML, has more than 1 MiB, 100,000 values or 50
        levels, unknown tags, or no end of the header.

    Warns
    -----
    CranfieldWarning
        When a key stands twice in one mapping: the last one counts.

    Examples
    --------
    >>> read_metadata(b"tag: bm25").get("tag")
    'bm25'
    """
    if isinstance(data, Header):
        return _of_header(data)
    if isinstance(data, bytes):
        return _of_yaml(data, "metadata", 1)
    path = fspath(data)
    if Path(path).suffix.lower() in (".yml", ".yaml"):
        return _of_yaml(_bytes_of(Path(path)), path, 1)
    from cranfield.sources.chunks import Source

    first = next(Source(path).chunks(2 * LARGEST), b"")
    header = header_of(first, path)
    return None if header is None else _of_header(header)


@dataclass(frozen=True)
class MetadataPlace:
    """Where a run's metadata are, which are read on request: its header, or a file.

    path, tag: of the run; a file `ir-metadata.yml` beside several runs is that of the run it names.
    file: the file that was named.
    """

    header: Header | None = None
    path: str | None = None
    file: str | None = None
    tag: str | None = None

    def read(self) -> Metadata | None:
        """Read the file that was named, else the header, else the file beside the run."""
        if self.file is not None:
            return read_metadata(self.file)
        if self.header is not None:
            return _of_header(self.header)
        if self.path is None or self.path == "-":
            return None
        run = Path(self.path)
        own = run.with_name(f"{run.name}.{BESIDE}")
        if own.is_file():
            return read_metadata(own)
        shared = run.with_name(BESIDE)
        about = read_metadata(shared) if shared.is_file() else None
        if about is None or about.get("tag") in (None, self.tag):
            return about
        return None


def header_lines(place: MetadataPlace | None) -> bytes:
    """Return metadata as the header of a run; what was read from one of comments as it was."""
    if place is None:
        return b""
    if place.file is None and place.header is not None and place.header.commented:
        return place.header.raw.removesuffix(b"\n") + b"\n"
    metadata = place.read()
    if metadata is None:
        return b""
    lines = metadata.to_yaml().rstrip("\n").split("\n")
    text = "".join(f"# {line}\n" for line in ("ir_metadata.start", *lines, "ir_metadata.end"))
    header = header_of(text.encode(), metadata.source)
    if header is None or len(header.raw) < len(text.encode()):
        raise InputError("has a line 'ir_metadata.end'", source=metadata.source)
    return header.raw


def _of_header(header: Header) -> Metadata:
    from cranfield.collection.metadata.metadata import Metadata
    from cranfield.sources.text import decoded

    if header.form == "sysdesc":
        description = decoded(header.text, header.source, header.line).strip()
        return Metadata({"description": description}, header.source, header.line)
    return _of_yaml(header.text, header.source, header.line + 1)


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be read: {reason}", source=str(path)) from None


def _of_yaml(data: bytes, source: str, line: int) -> Metadata:
    from cranfield.collection.metadata.metadata import Metadata
    from cranfield.collection.metadata.yaml_tree import read_yaml
    from cranfield.sources.text import decoded

    if len(data) > LARGEST:
        raise InputError("has more than 1 MiB", source=source)
    yaml = read_yaml(decoded(data, source, line), source, line)
    for twice in yaml.twice[:1]:
        more = f" ({len(yaml.twice) - 1:,} more)" if len(yaml.twice) > 1 else ""
        warn(f"{source}: {twice}{more}", stacklevel=3)
    return Metadata(yaml.values, source, line, data, yaml.twice)
