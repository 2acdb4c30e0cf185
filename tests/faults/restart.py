"""The HTTP service under the load of many clients, ended and started again: what it acknowledged is in the index."""

import signal
import threading
import time
from bisect import bisect
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from support.corpus import text
from support.listening import free_port
from support.patience import END_S
from support.serving import serving

from faults.outcome import Outcome
from faults.traffic import check_told, decided
from simhash_hbase import create_index, open_index

SCENARIO = "service restarted"
CLIENTS = 32
PROCESSES = ("--processes", "2")
WORDS = 100
TURN = 8  # Requests of a turn: four claims, two queries, one addition and one removal.


class Client:
    """Uses the service as an index, one request after the other, and keeps what was acknowledged.

    All clients claim near copies of the same texts, at about the same time.
    """

    def __init__(self, address: str, name: str):
        self.acknowledged: dict[str, tuple[str, str | None] | None] = {}
        """State and original of each id; None after its removal."""
        self.answered: list[float] = []
        """The times at which answers came."""
        self._address = address
        self._name = name
        self._random = Random(name)

    def run(self, is_over: threading.Event):
        with open_index(self._address) as index:
            for number in count():
                if is_over.is_set():
                    return
                self._ask(index, number)
                self.answered.append(time.monotonic())

    def _ask(self, index, number):
        name = f"{self._name}/{number}"
        match number % TURN:
            case 0:
                index.add(name, text(name, count=WORDS))
                self.acknowledged[name] = ("added", None)
            case 1 if number > TURN:
                claimed = f"{self._name}/{number - TURN // 2}"
                index.remove(claimed)
                self.acknowledged[claimed] = None
            case 2 | 3:
                index.query(text(number - TURN // 2, count=WORDS))
            case _:
                decision = index.claim(name, text(number, count=WORDS, changed=self._random.randrange(3)))
                self.acknowledged[name] = decided(decision)


def load(
    url: str, folder: Path, seconds: float, *, restarts: int = 1, end: int = signal.SIGTERM, options=PROCESSES
) -> Outcome:
    """Let clients ask for so long, restart the service meanwhile, and compare the index with what was acknowledged."""
    outcome, port, is_over = Outcome(SCENARIO), free_port(), threading.Event()
    clients = [Client(f"http://127.0.0.1:{port}", f"client {at}/0") for at in range(CLIENTS)]
    running, gaps = [], []  # When the service was told to end, and when the next one had started.
    with ThreadPoolExecutor(CLIENTS) as pool:
        try:
            for life in range(restarts + 1):
                (own := folder / str(life)).mkdir()
                words = ("--port", str(port), "--max-requests", "256", *options)
                with serving(url, own, *words, auth=False) as server:
                    if life:
                        gaps[-1].append(time.monotonic())
                    running = running or [pool.submit(client.run, is_over) for client in clients]
                    time.sleep(seconds / (restarts + 1))
                    if life == restarts:
                        is_over.set()
                        for client in running:
                            client.result()
                        break
                    server.process.send_signal(end)
                    gaps.append([time.monotonic()])
                    assert server.process.wait(END_S) == (0 if end == signal.SIGTERM else -end)
                    outcome.times += 1
        finally:
            is_over.set()
    for ended, started in gaps:
        outcome.recovery.append(max(client.answered[bisect(client.answered, started)] for client in clients) - ended)
    outcome.stall = max(after - before for client in clients for before, after in pairwise(client.answered))
    with open_index(url) as index:
        outcome.judge(check_told(index, {name: told for each in clients for name, told in each.acknowledged.items()}))
    outcome.acknowledged = sum(len(client.answered) for client in clients)
    return outcome


def run(times: int, minutes: float, url: str | None, say) -> Outcome:
    """Restart the service of an empty index so many times."""
    with TemporaryDirectory() as above:
        url = url or f"file:{above}/index"
        create_index(url, analyzer="shingle").close()
        return load(url, Path(above), 60 * minutes, restarts=times)
