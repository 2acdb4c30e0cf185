"""The HTTP service: one index, many clients. Importing it needs the extra ``service`` of this package."""

from simhash_hbase.errors import MissingExtra

try:
    import fastapi as _fastapi  # noqa: F401
    import prometheus_client as _prometheus  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise MissingExtra("the service needs three packages more: pip install 'simhash-hbase[service]'") from error

from simhash_hbase.service.app import create_app
from simhash_hbase.service.http.keys import Keyring, make_key
from simhash_hbase.service.http.logs import set_up_logs
from simhash_hbase.service.limits import Limits
from simhash_hbase.service.server import listen, serve

__all__ = ["Keyring", "Limits", "create_app", "listen", "make_key", "serve", "set_up_logs"]
