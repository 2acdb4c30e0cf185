"""BLAKE2b, as hashlib has it: that loads OpenSSL when it is imported, a look-up's fiftieth part."""

try:
    from _blake2 import blake2b
except ImportError:  # Another Python may keep it elsewhere.
    from hashlib import blake2b

__all__ = ["blake2b"]
