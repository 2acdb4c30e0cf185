"""Defaults of options from a TOML file."""

from collections.abc import Mapping
from pathlib import Path

import click

from simhash_hbase.cli.help import Option, wanted_number
from simhash_hbase.errors import InvalidArgument

Options = Mapping[str, Option]  # By the names that users write, with underscores.


def load_settings(path: str, known: Mapping[str, Options]) -> dict[str, dict[str, object]]:
    """Read defaults for command line options from a TOML file."""
    given = _read_toml(path)
    common = {key: value for key, value in given.items() if not isinstance(value, dict)}
    for key, value in given.items():
        if key not in known and (isinstance(value, dict) or not any(key in options for options in known.values())):
            raise InvalidArgument(f"{path}: {key!r} is neither an option nor a command")
    return {
        command: _for_command(path, options, common)
        | _for_command(path, options, _table(path, given, command, options))
        for command, options in known.items()
    }


def _table(path: str, given: Mapping[str, object], command: str, options: Options) -> dict[str, object]:
    table = given.get(command)
    if not isinstance(table, dict):
        return {}
    for key in table:
        if key.replace("-", "_") not in options:
            raise InvalidArgument(f"{path}: command {command} has no option {key!r}")
    return {key.replace("-", "_"): value for key, value in table.items()}


def _for_command(path: str, options: Options, given: Mapping[str, object]) -> dict[str, object]:
    return {
        str(options[key].name): _checked(path, key, options[key], value)
        for key, value in given.items()
        if key in options
    }


def _checked(path: str, key: str, option: Option, value: object) -> object:
    """Refuse a value that click would make another one of: ``true`` is no number."""
    values = value if option.multiple and isinstance(value, list) else [value]
    types, wanted = _wanted(option)
    for each in values:
        if not isinstance(each, types) or (isinstance(each, bool) and bool not in types):
            shown = str(each).lower() if isinstance(each, bool) else repr(each)
            raise InvalidArgument(f"{path}: {key} is {shown}: wanted {wanted}")
    return values if option.multiple else value


def _wanted(option: Option) -> tuple[tuple[type, ...], str]:
    if option.is_flag:
        return (bool,), "true or false"
    if (wanted := wanted_number(option.type)) is not None:
        return (int, str) if isinstance(option.type, click.types.IntParamType) else (int, float, str), wanted
    return (str,), "a text in quotes, or a list of them" if option.multiple else "a text in quotes"


def _read_toml(path: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - few calls name a file of settings

    try:
        with Path(path).open("rb") as file:
            return {key.replace("-", "_"): value for key, value in tomllib.load(file).items()}
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path} is not UTF-8 from its byte {error.start + 1:,} on, as TOML has to be") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{path} is not TOML: {error}") from error
