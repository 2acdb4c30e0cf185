"""The HTTP service: one index, many clients. What serves needs the extra ``service`` of this package."""

from typing import TYPE_CHECKING

from simhash_hbase.errors import MissingExtra
from simhash_hbase.lazily import handing_on

if TYPE_CHECKING:
    from simhash_hbase.service.app import create_app
    from simhash_hbase.service.http.keys import Keyring, make_key
    from simhash_hbase.service.http.logs import set_up_logs
    from simhash_hbase.service.limits import Limits
    from simhash_hbase.service.listening import listen
    from simhash_hbase.service.server import serve

__all__ = ["Keyring", "Limits", "create_app", "listen", "make_key", "serve", "set_up_logs"]

_hand_on = handing_on(
    __name__,
    {
        "app": ["create_app"],
        "http.keys": ["Keyring", "make_key"],
        "http.logs": ["set_up_logs"],
        "limits": ["Limits"],
        "listening": ["listen"],
        "server": ["serve"],
    },
)


def __getattr__(name: str) -> object:
    try:
        return _hand_on(name)
    except ImportError as error:
        if (error.name or "").startswith("simhash_hbase"):
            raise
        raise MissingExtra("the service needs three packages more: pip install 'simhash-hbase[service]'") from error
