"""BLAKE2b, as hashlib has it: that loads OpenSSL when it is imported, a look-up's fiftieth part."""

try:
    from _blake2 import blake2b
except ImportError:  # Another Python may keep it elsewhere.
    from hashlib import blake2b

__all__ = ["blake2b", "digest_of"]


def digest_of(content: bytes) -> str:
    """Digest some content, to notice when it is another one."""
    return blake2b(content, digest_size=16).hexdigest()
