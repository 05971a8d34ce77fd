"""A case: a call with arguments replaced, and what becomes of it."""

from __future__ import annotations

import contextlib
import inspect
import io
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from studies.attack.functions.calls import Pool, Target
from studies.attack.functions.values import (
    OddError,
    OwnError,
    copied,
    extreme,
    named,
    one_of_hostile,
)
from studies.attack.work.cases import FindingError, HangError

LONGEST = 500
"""Characters of a message."""

LOOKED_AT = 3
"""Properties and methods of a result."""

CLASS = {"self", "cls"}


def case(target: Target, pool: Pool, chance: random.Random) -> tuple[str, Callable[[], Any]]:
    """Return a case in words, and what does it."""
    args, kwargs = copied(chance.choice(target.calls))
    given, kept = dict(target.signature.bind_partial(*args, **kwargs).arguments), pool
    parameters = [one for name, one in target.signature.parameters.items() if name not in CLASS]
    said = []
    if "self" in given and chance.random() < 0.5:
        given["self"] = copied(chance.choice([*kept[type(given["self"])], given["self"]]))
        said.append("self=another")
    for _ in range(chance.choice([1, 1, 1, 2, 3]) if parameters else 0):
        parameter = chance.choice(parameters)
        name, how = parameter.name, chance.random()
        if how < 0.4 or made_by_others(target):
            value, words = one_of_hostile(chance)
        elif how < 0.55 and type(given.get(name)) in (dict, list, tuple):
            value, words = planted(given[name], chance)
        elif how < 0.57 and needed(parameter) and name in given and "__" not in target.name:
            del given[name]
            said.append(f"{name} left out")
            continue
        else:
            value = copied(extreme(parameter, given.get(name, parameter.default), kept, chance))
            words = named(value)
        given[name] = put(parameter, value)
        said.append(f"{name}={words}")
    run = called(target, given)
    looks = random.Random(chance.random())

    def do() -> None:
        try:
            result = run()
        except (KeyError, IndexError):
            if target.name.endswith("__getitem__"):
                # What mappings and sequences are to raise.
                return
            raise
        if not made_by_others(target):
            look(result, looks)

    return f"{target.name}({', '.join(said)})", do


def needed(parameter: inspect.Parameter) -> bool:
    """Tell whether something must be given; a default may be the work of minutes."""
    return parameter.default is parameter.empty and parameter.kind not in (2, 4)


def made_by_others(target: Target) -> bool:
    """Tell whether a class is a result, which only functions make: its values go together."""
    made = isinstance(target.function, type)
    return made and "\n    Parameters\n" not in (target.function.__doc__ or "")


def put(parameter: inspect.Parameter, value: Any) -> Any:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return (value,)
    if parameter.kind is parameter.VAR_KEYWORD:
        return dict(value) if type(value) is dict and all(map(_is_name, value)) else {"odd": value}
    return value


def _is_name(key: Any) -> bool:
    return type(key) is str and key.isidentifier()


def planted(value: Any, chance: random.Random) -> tuple[Any, str]:
    """Put something odd deep into a dict or a list."""
    odd, words = one_of_hostile(chance)
    if type(value) is dict:
        if not value:
            return {"x": odd}, f"an entry of {words}"
        key = chance.choice(list(value))
        if type(value[key]) in (dict, list, tuple) and chance.random() < 0.6:
            inner, words = planted(value[key], chance)
            return {**value, key: inner}, words
        if chance.random() < 0.3:
            with contextlib.suppress(Exception):
                return {**value, odd: value[key]}, f"a key {words}"
        return {**value, key: odd}, f"an entry of {words}"
    entries = list(value)
    place = chance.randrange(len(entries) + 1)
    words = f"an element of {words}"
    if place < len(entries) and type(entries[place]) in (dict, list, tuple):
        odd, words = planted(entries[place], chance)
    entries[place : place + 1] = [odd]
    return (tuple(entries) if isinstance(value, tuple) else entries), words


def called(target: Target, given: Mapping[str, Any]) -> Callable[[], Any]:
    positional: list[Any] = []
    by_name: dict[str, Any] = {}
    by_place = True
    for name, one in target.signature.parameters.items():
        if name not in given:
            # What comes behind an argument that is not given goes by its name.
            by_place = False
        elif one.kind is one.VAR_POSITIONAL:
            positional += given[name] if by_place else ()
        elif one.kind is one.VAR_KEYWORD:
            by_name |= {key: value for key, value in given[name].items() if key not in by_name}
        elif by_place and one.kind is not one.KEYWORD_ONLY:
            positional.append(given[name])
        else:
            by_name[name] = given[name]
    return lambda: target.function(*positional, **by_name)


def look(result: Any, chance: random.Random) -> None:
    """Use a result as a user would: print it, iterate over it, ask it."""
    if isinstance(result, Iterator):
        list(islice(result, 50))
        return
    if not type(result).__module__.startswith("cranfield"):
        return
    repr(result)
    if hasattr(result, "_repr_html_"):
        result._repr_html_()
    ours = [one for one in type(result).__mro__ if one.__module__.startswith("cranfield")]
    names = sorted({name for one in ours for name in vars(one) if not name.startswith("_")})
    for name in chance.sample(names, min(LOOKED_AT, len(names))):
        try:
            value = getattr(result, name)
            if inspect.ismethod(value) and not any(
                map(needed, inspect.signature(value).parameters.values())
            ):
                value()
        except Exception as error:
            error.add_note(f"its {name}")
            raise


def outcome(made: str, run: Callable[[], Any]) -> bool:
    """Do a case: True where it is right, False where it is refused; anything else is a finding."""
    from cranfield import CranfieldError, CranfieldWarning

    silent, said = io.StringIO(), ""
    try:
        with (
            contextlib.redirect_stdout(silent),
            contextlib.redirect_stderr(silent),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            run()
    except CranfieldError as error:
        line = str(error)
        if len(line) > LONGEST or not line.isprintable():
            raise FindingError(ascii(line)[:100], made, "no short printable line") from None
        return False
    except OwnError:
        return True
    except OddError as error:
        # Python's own representation of a result shows what the caller put into it.
        if place := _place(error.__traceback__):
            raise FindingError("odd", made, f"OddError in {place}") from None
        return True
    except (HangError, KeyboardInterrupt):
        raise
    except BaseException as error:
        place = " of ".join([*getattr(error, "__notes__", []), _place(error.__traceback__)])
        with contextlib.suppress(Exception):
            said = ascii(str(error))[:120]
        raise FindingError(said, made, f"{type(error).__name__} in {place}") from None
    for one in warned:
        # Names that are old are said to be so to who uses them: here, that is us.
        ours = "studies" in one.filename and issubclass(one.category, DeprecationWarning)
        # This is NumPy's word to whoever has put a masked value among numbers.
        masked = "converting a masked element" in str(one.message)
        harmless = issubclass(one.category, CranfieldWarning | ResourceWarning)
        if not (ours or masked or harmless):
            where = f"{one.filename.rpartition('site-packages/')[2][-60:]} {one.lineno}"
            said = ascii(str(one.message))[:120]
            raise FindingError(said, made, f"{one.category.__name__} in {where}")
    return True


def _place(traceback: Any) -> str:
    """Return where in the library an error comes from."""
    place = ""
    while traceback:
        code = traceback.tb_frame.f_code
        if "/cranfield/" in code.co_filename and "/border/" not in code.co_filename:
            place = f"{code.co_filename.rpartition('/cranfield/')[2]} {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
