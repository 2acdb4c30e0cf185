"""The packages that are measured beside this one; they come with the extras ``bench`` and ``peers``."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from simhash_hbase.errors import MissingExtra

__all__ = ["peer", "quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Let peers leave files open and use old ways of their own dependencies: where warnings are errors, they fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def peer(name: str, extras: str = "dev,bench") -> Any:
    """Import a peer.

    Parameters
    ----------
    name : str
        A module.
    extras : str
        What it comes with.

    Returns
    -------
    module

    Raises
    ------
    MissingExtra
        When it is not installed.
    """
    try:
        with quiet():
            return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"{name} is missing: ./scripts/install {extras}") from error
