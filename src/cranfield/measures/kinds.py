"""Kinds of declared objects by name: where each is defined, its other names, what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import getdoc
from typing import Generic, TypeVar

from cranfield.base.words import homes_of
from cranfield.measures.declared import Declared, parse_declared

D = TypeVar("D", bound=Declared)


class Kinds(Mapping[str, type[D]], Generic[D]):
    """The kinds of something, such as methods of judging, by name; loaded when named.

    Each is a class, and `called` gives its name. `listed` has the names behind those of their
    modules, as :func:`homes_of` reads them, and `package` has the modules.
    """

    def __init__(self, base: type[D], noun: str, package: str, listed: str) -> None:
        self.base, self.noun, self.package = base, noun, package
        self.homes, self.aliases = homes_of(listed)

    def __getitem__(self, name: str) -> type[D]:
        module = import_module(f"{self.package}.{self.homes[name]}")
        classes = (one for one in vars(module).values() if isinstance(one, type))
        return next(one for one in classes if issubclass(one, self.base) and one.called() == name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.homes)

    def __len__(self) -> int:
        return len(self.homes)

    def __contains__(self, name: object) -> bool:
        return name in self.homes

    def parse(self, text: str | D) -> D:
        """Read one from its text form; see :func:`parse_declared`."""
        return parse_declared(text, self.base, self, self.aliases, self.noun)

    def others(self) -> list[str]:
        """Other names of each kind."""
        return [
            ", ".join(other for other, of in self.aliases.items() if of == name) for name in self
        ]

    def parameters(self) -> list[str]:
        """Parameters of each kind, with what they are if not given."""
        return [
            ", ".join(f"{name}={one.default!r}" for name, one in kind.parameters.items())
            for kind in self.values()
        ]

    def summaries(self) -> list[str]:
        """What each kind is: the first lines of what is written of it."""
        return [(getdoc(kind) or "").split("\n\n")[0].replace("\n", " ") for kind in self.values()]
