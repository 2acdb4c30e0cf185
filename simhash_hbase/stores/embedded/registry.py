"""One environment for each folder and process, as LMDB demands; a new one after a fork."""

import os
from threading import Lock

from simhash_hbase.errors import IndexExists, InvalidArgument
from simhash_hbase.stores.embedded.environment import Environment
from simhash_hbase.stores.embedded.folder import open_marked
from simhash_hbase.stores.embedded.options import EmbeddedOptions


class _Registry:
    """Environments by real path, with the number of stores that use each."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.environments: dict[str, Environment] = {}
        self.users: dict[str, int] = {}


_registry = _Registry()
# Environments of the parent process; kept, so that the garbage collector does not end them.
_inherited: list[_Registry] = []


def acquire(path: str, options: EmbeddedOptions, *, create: bool = False) -> Environment:
    """Open a folder, or share the environment that this process has open already."""
    real = os.path.realpath(path)
    with _registry.lock:
        shared = _registry.environments.get(real)
        if shared is not None and create:
            raise IndexExists(f"there is an index at {path} already")
        if shared is None:
            shared = open_marked(real, options, create=create)
            _registry.environments[real] = shared
            _registry.users[real] = 0
        elif shared.options.durable != options.durable:
            raise InvalidArgument(f"{path}: this process has it open with durable={shared.options.durable} already")
        _registry.users[real] += 1
        return shared


def release(environment: Environment) -> None:
    """Release an environment; its last user closes it."""
    with _registry.lock:
        if _registry.environments.get(environment.path) is not environment:
            return
        _registry.users[environment.path] -= 1
        if not _registry.users[environment.path]:
            del _registry.environments[environment.path], _registry.users[environment.path]
            environment.close()


def _forget_inherited() -> None:
    global _registry  # noqa: PLW0603
    # The driver refuses to open a folder that it believes to be open in this process.
    for environment in _registry.environments.values():
        environment.drop_inherited()
    _inherited.append(_registry)
    _registry = _Registry()


os.register_at_fork(after_in_child=_forget_inherited)
