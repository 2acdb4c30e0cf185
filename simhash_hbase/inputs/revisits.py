"""Records that stand for captures that are left out: revisits of the same payload, and metadata about near copies."""

import hashlib
from base64 import b32encode
from collections.abc import Mapping
from io import BytesIO
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from warcio.recordloader import ArcWarcRecord
from warcio.warcwriter import WARCWriter

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.members import pieces
from simhash_hbase.inputs.warc import WarcRecord, bare, head_bytes, head_of, warc_records

_BLOCK_BYTES = 1 << 20


class _Kept(NamedTuple):
    """The capture that revisits refer to."""

    url: str
    date: str
    digest: str


class Captures:
    """Knows the payloads that were kept, about 300 bytes each; makes the records of those that are not."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _Kept] = {}

    def keep(self, raw: bytes) -> None:
        """Note a record that is kept."""
        record = _parsed(raw)
        if (payload := _payload(record)) is not None:
            # The crawler's own digest, by which tools find the capture; else one of the same form.
            own = f"sha1:{b32encode(hashlib.sha1(payload).digest()).decode()}"
            digest = _field(record, "Payload-Digest") or own
            kept = _Kept(_field(record, "Target-URI"), _field(record, "Date"), digest)
            self._kept.setdefault(hashlib.sha256(payload).digest(), kept)

    def reference(self, raw: bytes, fields: Mapping[str, object]) -> bytes:
        """Make the record of one that is not kept: a revisit if its payload is, else metadata with some fields."""
        record = _parsed(raw)
        payload = _payload(record)
        kept = None if payload is None else self._kept.get(hashlib.sha256(payload).digest())
        # The same input makes the same bytes, so the id is made of the record's own.
        name = uuid5(NAMESPACE_URL, f"{_field(record, 'Record-ID')} {_field(record, 'Target-URI')}")
        headers = {"WARC-Record-ID": f"<urn:uuid:{name}>", "WARC-Date": _field(record, "Date")}
        file = BytesIO()
        writer = WARCWriter(file, gzip=False, warc_version="1.1")
        made = _metadata(writer, record, headers, fields) if kept is None else _revisit(writer, record, headers, kept)
        writer.write_record(made)
        return file.getvalue()


def _revisit(writer: WARCWriter, record: WarcRecord, headers: dict[str, str], kept: _Kept) -> ArcWarcRecord:
    http = head_of(record.block[: head_bytes(record.block)])
    return writer.create_revisit_record(
        _field(record, "Target-URI"), kept.digest, kept.url, kept.date, http_headers=http, warc_headers_dict=headers
    )


def _metadata(
    writer: WARCWriter, record: WarcRecord, headers: dict[str, str], fields: Mapping[str, object]
) -> ArcWarcRecord:
    # A value, such as an id of an index, does not end its field; as in addresses.
    values = {
        name: str(value).replace("\r", "%0D").replace("\n", "%0A")
        for name, value in fields.items()
        if value is not None
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in values.items()).encode()
    if known := _field(record, "Record-ID"):
        headers["WARC-Refers-To"] = f"<{known}>"
    return writer.create_warc_record(
        _field(record, "Target-URI"),
        "metadata",
        payload=BytesIO(lines),
        length=len(lines),
        warc_content_type="application/warc-fields",
        warc_headers_dict=headers,
    )


def _parsed(raw: bytes) -> WarcRecord:
    record = next(warc_records(pieces((raw,), _BLOCK_BYTES, named_gzip=False), len(raw) << 10))
    if not isinstance(record, WarcRecord):
        raise InvalidInput(f"a record that was read before is damaged now: {record.reason}")
    return record


def _payload(record: WarcRecord) -> bytes | None:
    """Return the body of an answer by HTTP as it was sent; other records have no revisits."""
    media = record.headers.get_header("Content-Type", "").lower()
    if _field(record, "Type") != "response" or not media.startswith("application/http"):
        return None
    return record.block[head_bytes(record.block) :]


def _field(record: WarcRecord, name: str) -> str:
    return bare(record.headers.get_header(f"WARC-{name}") or "")
