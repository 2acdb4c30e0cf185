"""The Thrift interfaces of HBase's gateways, loaded from their descriptions on first use.

The files ``….thrift`` beside this one belong to this package and describe only the calls that it makes. The wire format
consists of methods, fields and numbers, which are those of HBase's ``hbase.thrift`` (Thrift 2) and ``Hbase.thrift``
(Thrift 1); other names are free. happybase describes Thrift 1.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import thriftpy2

# thriftpy2 makes these modules and their classes at run time, so they have no types.
Interface: TypeAlias = Any


@cache
def interface(name: str) -> Interface:
    """Return ``thrift2``, ``either`` (calls that differ between the two) or ``walk1`` (a call happybase lacks)."""
    path = Path(__file__).with_name(f"{name}.thrift")
    return thriftpy2.load(str(path), module_name=f"simhash_hbase_{name}_thrift")


@cache
def thrift1() -> Interface:
    """Return the interface of Thrift 1, which happybase registers under this name."""
    import happybase  # noqa: F401, PLC0415  # only clusters without Thrift 2 pay for its import

    return sys.modules["Hbase_thrift"]
