"""A search for counter-examples to `claim` on a real store: writers that are killed, slow, and not answered.

Several writers, processes of their own (threads on ``memory:``), claim the same clusters of near copies and the same
ids at the same time, in batches and one by one. Between the steps of the protocol they pause at random; answers of the
store are lost, requests come late, connections are cut in the middle of an answer; writers are killed before, in and
after calls, and come back to claim the same again; their clocks are 60 seconds apart. After every round, and once more
over everything that the index exports, what is stored is compared with what was answered, each original with every
other.

What is claimed and what goes wrong follows from a seed; how the system lets processes run does not.

``python -m claim_search`` (``./scripts/search-claims``) runs it, with a part of the protocol taken out if so asked.
"""
