"""A client of the HTTP service: the same library, with the service's address in the place of the store's.

``SIMHASH_HBASE_API_KEY=… python examples/ask_service.py http://127.0.0.1:8080 < documents.jsonl`` prints for each
document the nearest one that the service knows. A key is made by ``simhash-hbase key``.
"""

import json
import sys

from simhash_hbase import Answer, open_index


def nearest(answer: Answer | None) -> str:
    """Say what an answer means."""
    if answer is None:
        return "has no usable words"
    if not answer.matches:
        return "is new"
    match = answer.matches[0]
    return f"is near {match.id}, {match.distance} bits away, similarity {match.similarity}"


if __name__ == "__main__":
    with open_index(sys.argv[1], readonly=True) as service:
        documents = ((record["id"], record["text"]) for record in map(json.loads, sys.stdin))
        for name, found in service.query_many(documents):
            print(name, nearest(found))
