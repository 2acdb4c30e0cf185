"""Lazy imports for packages: a module is imported only when one of its names is first used."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def handing_on(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return a ``__getattr__`` function for a package, which imports a public name from its module on first use.

    `homes` has for each module of the package the names that it defines. No module may have the name of a public
    function: importing it would put the module in the function's place.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name in home_of:
            found: object = getattr(import_module(f"{package}.{home_of[name]}"), name)
            setattr(sys.modules[package], name, found)
            return found
        # Importing it takes longer than the start of the program may take before interrupts are handled.
        from importlib.util import find_spec  # noqa: PLC0415

        if name.startswith("_") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return get
