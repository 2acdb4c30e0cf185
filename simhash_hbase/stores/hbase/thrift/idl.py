"""The Thrift interfaces of HBase's gateways, read from their descriptions when they are first needed.

The files ``….thrift`` beside this one are the package's own and hold just the calls it makes. Their
methods, fields and numbers are those of HBase's ``hbase.thrift`` (Thrift 2) and ``Hbase.thrift`` (Thrift 1), which are
what goes over the wire; other names are free. Thrift 1 is described by happybase.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import thriftpy2

# thriftpy2 makes these modules and their classes at run time: a type checker knows nothing of them.
Interface: TypeAlias = Any


@cache
def thrift2() -> Interface:
    """Return the interface of Thrift 2."""
    return _load("thrift2")


@cache
def either() -> Interface:
    """Return the calls that tell the two gateways apart."""
    return _load("either")


@cache
def thrift1() -> Interface:
    """Return the interface of Thrift 1, which happybase brings and registers under this name."""
    import happybase  # noqa: F401, PLC0415  # only clusters without Thrift 2 pay for its import

    return sys.modules["Hbase_thrift"]


@cache
def walk1() -> Interface:
    """Return the call of Thrift 1 that happybase describes in part."""
    return _load("walk1")


def _load(name: str) -> Interface:
    path = Path(__file__).with_name(f"{name}.thrift")
    return thriftpy2.load(str(path), module_name=f"simhash_hbase_{name}_thrift")
