"""A Kerberos of a test's own: one realm on the loopback address."""

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.gates import absent
from support.listening import free_port, wait_for_port

# Debian keeps them where only root looks.
PLACES = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"


@dataclass(frozen=True)
class Realm:
    """A running KDC."""

    folder: Path
    environment: dict[str, str]

    def keytab(self, principal):
        """Return the file with the key of a principal, which is made at the first call."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        if file.exists():
            return file
        for question in (f"addprinc -randkey {principal}", f"ktadd -k {file} {principal}"):
            _run(self.environment, "kadmin.local", "-q", question)
        return file


@contextmanager
def kerberos_realm(folder):
    """Run a KDC for EXAMPLE.TEST."""
    kdc = shutil.which("krb5kdc", path=PLACES) or absent("krb5kdc is missing: apt-get install krb5-kdc")
    if shutil.which("kadmin.local", path=PLACES) is None:
        absent("kadmin.local is missing: apt-get install krb5-admin-server")
    port = free_port()
    (folder / "krb5.conf").write_text(
        "[libdefaults]\n default_realm = EXAMPLE.TEST\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
        f" udp_preference_limit = 1\n[realms]\n EXAMPLE.TEST = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    )
    (folder / "kdc.conf").write_text(
        f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
        f"[realms]\n EXAMPLE.TEST = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n }}\n"
    )
    environment = {"KRB5_CONFIG": f"{folder}/krb5.conf", "KRB5_KDC_PROFILE": f"{folder}/kdc.conf", "PATH": PLACES}
    _run(environment, "kdb5_util", "create", "-s", "-P", "a word", "-r", "EXAMPLE.TEST")
    with (folder / "kdc.log").open("wb") as log:
        started = subprocess.Popen([kdc, "-n", "-P", folder / "pid"], env=environment, stdout=log, stderr=log)
    try:
        wait_for_port(port, started, folder / "kdc.log")
        yield Realm(folder, environment)
    finally:
        started.terminate()
        started.wait()


def _run(environment, *command):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
