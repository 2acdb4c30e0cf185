"""Answers as JSON: the forms that the command line prints and the HTTP service sends."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass

import msgspec

from simhash_hbase.index.answers import Answer, Decision, Stored
from simhash_hbase.index.copies import Copies


def hex_simhash(simhash: int) -> str:
    """Write a fingerprint the way it is read: 16 lower-case hex digits."""
    return f"{simhash:016x}"


def plain(value: object) -> object:
    """Turn results into what JSON knows; similarities to four decimals."""
    # Most values are one of these: a tenth of the time of `dedup` was spent on looking for more.
    if value is None or isinstance(value, str | int):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def json_line(record: Mapping[str, object]) -> bytes:
    """Encode one result, with its line end."""
    return msgspec.json.encode(plain(record)) + b"\n"


def answer_record(name: str | None, answer: Answer) -> dict[str, object]:
    """Make the JSON form of a query's answer; `name` says what was looked for."""
    return {
        "query": name,
        "matches": plain(answer.matches),
        "truncated": answer.truncated,
        "complete": answer.complete,
        "short": answer.short,
    }


def decision_record(decision: Decision) -> dict[str, object]:
    """Make the JSON form of an original-or-duplicate decision."""
    record: dict[str, object] = {
        "id": decision.id,
        "status": "original" if decision.is_original else "duplicate",
        "of": decision.of,
        "distance": decision.distance,
        "similarity": decision.similarity,
        "short": decision.short,
    }
    if decision.near is not None:
        record["near"] = decision.near
    return {**record, "of_removed": True} if decision.of_removed else record


def stored_record(stored: Stored) -> dict[str, object]:
    """Make the JSON form of a stored document; what is unknown is left out."""
    record = {**asdict(stored), "simhash": hex_simhash(stored.simhash)}
    return {name: value for name, value in record.items() if value is not None}


def copies_record(found: Copies) -> dict[str, object]:
    """Make the JSON form of the copies of an original."""
    return asdict(found)
