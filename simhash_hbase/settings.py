"""Defaults for the command line from a file and from variables: nothing else reads the environment."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from simhash_hbase.errors import InvalidArgument

__all__ = ["load_settings"]

ENVIRONMENT_PREFIX = "SIMHASH_HBASE_"


def load_settings(
    path: str | None, known: Mapping[str, Mapping[str, str]], environment: Mapping[str, str] | None = None
) -> dict[str, dict[str, object]]:
    """Read defaults for command line options from a TOML file and from variables.

    Parameters
    ----------
    path : str or None
        A TOML file: keys at the top hold for every command that has such an option, those of a table
        named like a command for that command.
    known : mapping
        Command to its options: the name that users write, with underscores, and the parameter's name.
    environment : mapping, optional
        Variables ``SIMHASH_HBASE_OPTION``, for every command; they win over the file.

    Returns
    -------
    dict
        Command to defaults by parameter.

    Raises
    ------
    InvalidArgument
        When the file cannot be read, or names what is neither a command nor an option.
    """
    given = _read_toml(path) if path else {}
    names = {option for options in known.values() for option in options}
    for key, value in given.items():
        _check_key(str(path), key, value, known, names)
    variables = os.environ if environment is None else environment
    common = {key: value for key, value in given.items() if not isinstance(value, dict)}
    common |= {n: v for n in names if (v := variables.get(ENVIRONMENT_PREFIX + n.upper())) is not None}
    return {
        command: {options[key]: value for key, value in {**common, **_table(given, command)}.items() if key in options}
        for command, options in known.items()
    }


def _check_key(path: str, key: str, value: object, known: Mapping[str, Mapping[str, str]], names: set[str]) -> None:
    if key not in (known if isinstance(value, dict) else names):
        raise InvalidArgument(f"{path}: {key!r} is neither an option nor a command")
    for option in value if isinstance(value, dict) else ():
        if option.replace("-", "_") not in known[key]:
            raise InvalidArgument(f"{path}: command {key} has no option {option!r}")


def _table(given: Mapping[str, object], command: str) -> dict[str, object]:
    table = given.get(command)
    return {key.replace("-", "_"): value for key, value in table.items()} if isinstance(table, dict) else {}


def _read_toml(path: str) -> dict[str, object]:
    try:
        with Path(path).open("rb") as file:
            return {key.replace("-", "_"): value for key, value in tomllib.load(file).items()}
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{path} is no TOML: {error}") from error
