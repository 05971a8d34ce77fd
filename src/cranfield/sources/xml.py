"""XML read element by element; what is wrong names the line, and nothing else is opened."""

from __future__ import annotations

from xml.parsers import expat

from cranfield.base.errors import InputError
from cranfield.sources.chunks import Source
from cranfield.sources.limits import BeyondLimitError, check_parts


class XmlReader:
    """Takes a file apart for those that know its elements; other files and entities are refused."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.EntityDeclHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._outside

    def parse(self) -> None:
        try:
            raw = self.source.read()
            check_parts(raw, b"<")
            self.parser.Parse(raw, True)
        except BeyondLimitError as error:
            raise InputError(str(error), source=self.source.name) from None
        except expat.ExpatError as error:
            raise InputError(
                f"is no well-formed XML: {expat.ErrorString(error.code)}",
                source=self.source.name,
                line=error.lineno,
            ) from None

    def wrong(self, reason: str) -> InputError:
        """Make the error for what stands here."""
        return InputError(reason, source=self.source.name, line=self.parser.CurrentLineNumber)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""

    def end(self, tag: str) -> None:
        """End an element."""

    def data(self, text: str) -> None:
        """Take text."""

    def _entity(self, *_: object) -> None:
        raise self.wrong("declares entities of its own, which are not read")

    def _outside(self, *_: object) -> int:
        raise self.wrong("refers to something outside the file, which is not read")
