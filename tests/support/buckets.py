"""A Google Cloud Storage of a test's own: the parts of its JSON API that its client needs for objects of one bucket."""

from contextlib import contextmanager
from urllib.parse import parse_qs, unquote, urlsplit

from support.json_server import JsonHandler, served

__all__ = ["buckets"]


class Bucket(JsonHandler):
    """Serves `files` of the bucket ``corpora``; an upload is there when it is finished."""

    files, uploads, objects = {}, {}, "/storage/v1/b/corpora/o"

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        name = path.rpartition(f"{self.objects}/")[2]
        if path == self.objects:
            begins = self._asked("prefix")
            self._answer(200, {"items": [self._facts(name) for name in sorted(self.files) if name.startswith(begins)]})
        elif name not in self.files:
            self._answer(404, {"error": {"code": 404, "message": "no such object"}})
        elif self._asked("alt") == "media":
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            self._answer(206, self.files[name][int(first) : int(last) + 1])
        else:
            self._answer(200, self._facts(name))

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        name = self._asked("name")
        if not self._asked("part"):
            self.uploads[name] = b""
            host = f"http://{self.headers['Host']}"
            self._answer(200, {}, {"Location": f"{host}{self.path}&part=1"})
            return
        self.uploads[name] += data
        if self.headers["Content-Range"].endswith("/*"):
            self._answer(308, {}, {"Range": f"bytes=0-{len(self.uploads[name]) - 1}"})
        else:
            self.files[name] = self.uploads.pop(name)
            self._answer(200, self._facts(name))

    def do_DELETE(self):
        del self.uploads[self._asked("name")]
        self._answer(499, {})

    def _asked(self, key):
        return parse_qs(urlsplit(self.path).query).get(key, [""])[0]

    def _facts(self, name):
        size = str(len(self.files[name]))
        return {"name": name, "bucket": "corpora", "size": size, "generation": "1", "etag": size}


@contextmanager
def buckets(files):
    """Serve the bucket; give the variables that send the client here, and the uploads that are not finished."""
    handler = type("Handler", (Bucket,), {"files": files, "uploads": {}})
    with served(handler) as endpoint:
        # Else it asks by gRPC, and of Google, what kind of bucket this is.
        yield {"STORAGE_EMULATOR_HOST": endpoint, "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}, handler.uploads
