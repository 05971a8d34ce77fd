"""Settings files: YAML whose keys are options of a command, most of which have no flag."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cranfield.base.errors import PolicyError, quote
from cranfield.base.text import suggest_names


def read_settings(path: str, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Read the settings of a command from a YAML file, by parameter name."""
    from cranfield.collection.metadata.metadata import read_yaml

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8"
        if isinstance(error, OSError):
            reason = (error.strerror or "").lower()
        raise PolicyError(f"{quote(path)} cannot be read: {reason}") from error
    document = read_yaml(text, path)
    for message in document.repeated_keys[:1]:
        raise PolicyError(f"{path}: {message.removesuffix('; its last value is used')}")
    params = {
        max(param.opts, key=len).removeprefix("--"): param
        for param in command.params
        if isinstance(param, click.Option) and param.name != "settings"
    }
    values = {}
    for name, value in document.values.items():
        if name not in params:
            settings = (key for key, param in params.items() if getattr(param, "is_setting", False))
            hint = f"{', '.join(settings)}{suggest_names(name, params, 1)}"
            raise PolicyError(f"{path}: unknown setting {quote(name)}; expected one of: {hint}")
        values[params[name].name or ""] = _convert(params[name], value, f"{path}: {name}", ctx)
    return values


def _convert(param: click.Parameter, value: Any, location: str, ctx: click.Context) -> Any:
    """Convert a YAML value to that of an option; a mapping becomes pairs, NAME=VALUE or RANK:N."""
    sign = ":" if ":" in (getattr(param, "metavar", None) or "") else "="
    items = value if isinstance(value, list) else [value]
    pairs = value.items() if isinstance(value, dict) else [(None, item) for item in items]
    texts = []
    for name, item in pairs:
        # In map-grades, a word without a grade is ungraded.
        is_ungraded = item is None and name is not None and param.name == "map_grades"
        if (item is None and not is_ungraded) or isinstance(item, (dict, list)):
            key = location if name is None else f"{location}: {name}"
            raise PolicyError(f"{key} must be a single value, got {quote(item)}")
        texts.append(item if name is None else f"{name}{sign}{'' if is_ungraded else item}")
    if param.multiple:
        value = texts
    elif isinstance(value, (dict, list)):
        value = ",".join(map(str, texts))
    try:
        param.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise PolicyError(f"{location}: {error.message}") from error
    return value
