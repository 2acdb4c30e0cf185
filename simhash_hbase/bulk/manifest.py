"""The progress of a load, in one small file beside its parts."""

import secrets
from pathlib import Path

import msgspec

from simhash_hbase.bulk.parts import write_file
from simhash_hbase.errors import InvalidInput

FORMAT = 1
MANIFEST = "manifest.json"
TOKEN_BYTES = 8


class PartNote(msgspec.Struct, frozen=True, kw_only=True):
    """One finished part."""

    file: str
    checksum: str
    records: int  # Records of the input that it covers, with the refused ones.
    input: str  # Digest of these records: a restart that reads the same ones does not analyse them again.
    documents: int


class Manifest(msgspec.Struct, kw_only=True):
    """One load."""

    format: int = FORMAT
    token: str = msgspec.field(default_factory=lambda: secrets.token_hex(TOKEN_BYTES))  # Names this load in the index.
    url: str
    profile: str  # Digest of the index's profile.
    stamp: int | None = None  # The timestamp of all cells; None until the index was asked for its time.
    writing: bool = False  # Whether cells may be in the index already.
    parts: list[PartNote] = msgspec.field(default_factory=list)


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a folder; None if it has none."""
    path = folder / MANIFEST
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not the manifest of a load: {error}") from error
    if found.format != FORMAT:
        raise InvalidInput(f"{path} has format {found.format}, this version reads format {FORMAT}")
    return found


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of a folder."""
    write_file(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
