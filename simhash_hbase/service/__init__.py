"""The HTTP service: one index, many clients. Serving needs the extra ``service`` of this package."""

from typing import TYPE_CHECKING

from simhash_hbase.errors import missing_extra
from simhash_hbase.lazy import handing_on

if TYPE_CHECKING:
    from simhash_hbase.service.app import create_app
    from simhash_hbase.service.keys import Keyring, make_key
    from simhash_hbase.service.limits import Limits
    from simhash_hbase.service.logs import set_up_logs
    from simhash_hbase.service.processes import Settings, listen, run_service

__all__ = ["Keyring", "Limits", "Settings", "create_app", "listen", "make_key", "run_service", "set_up_logs"]

_hand_on = handing_on(
    __name__,
    {
        "app": ["create_app"],
        "keys": ["Keyring", "make_key"],
        "limits": ["Limits"],
        "logs": ["set_up_logs"],
        "processes": ["Settings", "listen", "run_service"],
    },
)


def __getattr__(name: str) -> object:
    try:
        return _hand_on(name)
    except ImportError as error:
        if (error.name or "").startswith("simhash_hbase"):
            raise
        from simhash_hbase.service.processes import EXTRA_MISSING  # noqa: PLC0415

        raise missing_extra(EXTRA_MISSING, "service") from error
