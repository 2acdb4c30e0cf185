"""The real code of claims and of what runs beside them, on a simulated HBase, under schedules that follow from seeds.

Each writer is a greenlet with an index of its own; each piece of each call of its store is a point where a seeded
scheduler chooses who goes on. Calls are cut between rows, as by regions; requests are late, repeated or lost with their
answers; writers are killed anywhere, stand still for longer than leases, and come back; their clocks step by minutes;
they are cut off from the store; the server's clock steps by less than it may. One seed gives one schedule, in every
process. Every change of a document cell has to keep the rules (`claim_simulator.watch`), and in the end everything
has to be decided, found, and clean after vacuum.

``python -m claim_simulator`` (``./scripts/simulate-claims``) runs it, with a part of the protocol taken out if so
asked.
"""
