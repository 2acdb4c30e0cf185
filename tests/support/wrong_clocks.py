"""Writers of one index whose clocks differ, beside a model of what the index holds."""

import random

from support.bruteforce import BASE, FAR, answered, entries, neighbours

IDS = [f"id{number}" for number in range(6)]
FINGERPRINTS = [BASE ^ (1 << bit) for bit in (0, 20, 40)] + [FAR]


def check_writers(writers, *, seed, steps, upkeep=False):
    """Let writers add and remove documents in any order, and compare what another one reads with a model.

    With `upkeep` they vacuum and repair meanwhile, too.
    """
    rng = random.Random(seed)
    model = {}
    for _ in range(steps):
        writer, reader = rng.choice(writers), rng.choice(writers)
        document, simhash = rng.choice(IDS), rng.choice(FINGERPRINTS)
        act = rng.random()
        if act < 0.3:
            assert list(writer.remove_many([document])) == [(document, document in model)]
            model.pop(document, None)
        elif upkeep and act < 0.4:
            writer.vacuum()
        elif upkeep and act < 0.5:
            assert writer.verify(repair=True).wrong == 0
        else:
            writer.add_entries(entries({document: simhash}))
            model[document] = simhash
        assert {stored.id: stored.simhash for stored in reader.get_many(IDS) if stored is not None} == model
        assert answered(reader.query_simhash(simhash)) == neighbours(model, simhash, 3)

    assert writers[-1].verify().wrong == 0
