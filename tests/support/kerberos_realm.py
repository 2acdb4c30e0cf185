"""A realm of Kerberos of the tests' own, on the loopback address."""

import shutil
import subprocess
from contextlib import contextmanager

from support.gates import absent
from support.listening import free_port, listening

# Debian keeps them where only root looks.
PLACES = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"


class Realm:
    """The files of a KDC for EXAMPLE.TEST on the loopback address."""

    def __init__(self, folder, port):
        self.folder = folder
        self.environment = {
            "KRB5_CONFIG": f"{folder}/krb5.conf",
            "KRB5_KDC_PROFILE": f"{folder}/kdc.conf",
            "PATH": PLACES,
        }
        (folder / "krb5.conf").write_text(
            "[libdefaults]\n default_realm = EXAMPLE.TEST\n dns_lookup_kdc = false\n"
            " dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n EXAMPLE.TEST = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n"
            f" EXAMPLE.TEST = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n }}\n"
        )
        self.run("kdb5_util", "create", "-s", "-P", "a word", "-r", "EXAMPLE.TEST")

    def run(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def keytab(self, principal):
        """Return the file with the key of a principal, which is made at the first call."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        if not file.exists():
            for question in (f"addprinc -randkey {principal}", f"ktadd -k {file} {principal}"):
                self.run("kadmin.local", "-q", question)
        return file


@contextmanager
def own_realm(folder):
    """Start a KDC in a folder; give its realm; skip the test where gssapi or a program is missing."""
    try:
        import gssapi  # noqa: F401, PLC0415
    except ImportError:
        absent("gssapi is missing: ./scripts/install kerberos, which needs libkrb5-dev and a compiler")
    kdc = shutil.which("krb5kdc", path=PLACES) or absent("krb5kdc is missing: apt-get install krb5-kdc")
    if shutil.which("kadmin.local", path=PLACES) is None:
        absent("kadmin.local is missing: apt-get install krb5-admin-server")
    port = free_port()
    made = Realm(folder, port)
    with listening([kdc, "-n", "-P", folder / "pid"], port, folder / "kdc.log", env=made.environment):
        yield made
