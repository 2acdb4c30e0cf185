"""An object store of a test's own: S3Proxy over a folder, from Maven's registry."""

import subprocess
from contextlib import contextmanager
from pathlib import Path

from simhash_hbase.errors import SimhashError
from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import cache_folder
from support.gates import absent
from support.listening import free_port, wait_for_port

__all__ = ["object_store"]

LOCK = Path(__file__).with_name("s3proxy.lock")
KEYS = ("local", "secret")
SETTINGS = """\
s3proxy.authorization=aws-v2-or-v4
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.identity={keys[0]}
s3proxy.credential={keys[1]}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={folder}
"""


@contextmanager
def object_store(folder):
    """Start the server over the folder ``data`` below this one, whose own folders are buckets; give its variables."""
    try:
        downloads = Downloads(cache_folder())
        [jar] = downloads.jars(LOCK).glob("*.jar")
        java = downloads.java()
    except SimhashError as error:
        absent(f"S3Proxy cannot be fetched: {error}")
    (folder / "data").mkdir()
    port = free_port()
    settings = folder / "s3proxy.conf"
    settings.write_text(SETTINGS.format(port=port, keys=KEYS, folder=folder / "data"))
    with (folder / "log").open("wb") as log:
        words = [java, "-Xmx128m", "-jar", jar, "--properties", settings]
        started = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for_port(port, started, folder / "log")
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": KEYS[0],
            "AWS_SECRET_ACCESS_KEY": KEYS[1],
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        started.terminate()
        started.wait()
