"""The stores under the contract: one `make_store` fixture, run once for each of them."""

from itertools import count

import pytest

from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore
from simhash_hbase.stores.memory import MemoryStore
from tests.stores.redis_ranges import make_contract_store

# A store that needs a server is added here: a function from the test's temporary folder and a clock to an empty store.
MAKERS = {
    "memory": lambda folder, clock: MemoryStore(clock=clock),
    "embedded": lambda folder, clock: EmbeddedStore.create(
        str(folder / "index"), EmbeddedOptions(durable=False, map_bytes=1 << 20), clock=clock
    ),
    # With a back door for the tests: the store itself refuses to read ranges.
    "redis": lambda folder, clock: make_contract_store(clock),
}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock(1_000_000)


@pytest.fixture(params=list(MAKERS))
def make_store(request, tmp_path, clock):
    """Return a function that makes one more empty store; all are closed at the end."""
    numbers, made = count(), []

    def make():
        folder = tmp_path / f"store{next(numbers)}"
        folder.mkdir()
        made.append(MAKERS[request.param](folder, clock))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make_store):
    return make_store()
