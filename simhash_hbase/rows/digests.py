"""The hash function BLAKE2b, imported without hashlib, which loads OpenSSL.

The import of hashlib would take a fiftieth of the time of a single look-up.
"""

try:
    from _blake2 import blake2b
except ImportError:  # Another Python may keep it elsewhere.
    from hashlib import blake2b

__all__ = ["blake2b", "digest_of"]


def digest_of(content: bytes) -> str:
    """Return the 16-byte BLAKE2b digest of some content as hex, to notice later whether the content has changed."""
    return blake2b(content, digest_size=16).hexdigest()
