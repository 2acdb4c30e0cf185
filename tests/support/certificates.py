"""A certificate of a test's own for this machine's loopback address."""

import subprocess


def make_certificate(folder):
    """Make one, and return the paths of the certificate, which is its own authority, and of its key."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *made, *names], check=True, capture_output=True)
    return certificate, key
