"""Servers of a test's own that files are read from and written to: web server, hub, buckets, object store."""

import base64
import hashlib
import json
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from simhash_hbase.errors import SimhashError
from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import cache_folder
from support.corpus import near_copies
from support.gates import absent
from support.listening import Silent, free_port, listening, served


class JsonHandler(Silent):
    """Answers with bytes or JSON, and keeps the connection."""

    protocol_version = "HTTP/1.1"

    def _answer_part(self, data):
        """Answer with the bytes that were asked for."""
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        part = data[first : last + 1]
        self._answer(206, part, {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(data)}"})

    def _answer(self, status, content, headers=None):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


RECORDS = near_copies(40, 3)
WEB = b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS)


class Web(Silent):
    """Serves `data`, and ends an answer after so many bytes, as networks do."""

    data, ranges, cut, asked = WEB, True, None, ()
    said = ({},)  # Headers: of the first answer with the file, of the second; the last of all further ones.
    grown = None  # After so many answers the file is a byte longer.
    reads = None  # The status of any answer to GET, where it is not that of HEAD.
    compared = True  # Whether it knows If-Range.
    conditions = ()

    def do_HEAD(self):
        self._head(200, len(self.data))

    def do_GET(self):
        wanted = self.headers.get("Range", "")
        type(self).asked += (wanted,)
        type(self).conditions += (self.headers.get("If-Range", ""),)
        said = self.said[min(len(self.asked), len(self.said)) - 1]
        same = not self.compared or self.headers.get("If-Range", said.get("ETag")) == said.get("ETag")
        first, _, last = wanted[6:].partition("-") if self.ranges and same else ("", "", "")
        part = self.data[int(first or 0) :][: int(last) + 1 - int(first) if last else None]
        length = len(self.data) + (self.grown is not None and len(self.asked) > self.grown)
        whole = {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{length}"} if first else {}
        self._head(self.reads or (206 if first else 200), len(part), said | whole)
        if not self.path.startswith("/moved"):
            self.wfile.write(part[: self.cut])
        self.close_connection = True

    def _head(self, code, length, said=None):
        status = self.path.removeprefix("/")[:3]
        if self.path.startswith("/moved"):
            code, length, said = 302, 0, {"Location": "/403.jsonl?X-Amz-Signature=topsecret"}
        self.send_response(404 if self.path.startswith("/none") else int(status) if status.isdigit() else code)
        for name, value in (said or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()


@contextmanager
def web(*, context=None, **settings):
    """Serve on a free port; give the address and the handler, which knows what was asked."""
    handler = type("Handler", (Web,), settings)
    with served(handler, context) as address:
        yield f"{address}/news.jsonl?key=secret", handler


class Hub(JsonHandler):
    """Serves `files` by their paths in the data set, and keeps the paths and ranges that were asked for."""

    repository, files, broken = "", {}, 0  # `broken` answers with a part of a file fail before the others.

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        self.asked.append((path, self.headers.get("Range", "")))
        api, resolved = f"/api/datasets/{self.repository}", f"/datasets/{self.repository}/resolve/main/"
        if path.startswith(resolved):
            self._part(self.files.get(path.removeprefix(resolved)))
        elif path in (api, f"{api}/revision/main"):
            self._answer(200, {"id": self.repository, "sha": "0" * 40, "siblings": []})
        elif path.startswith(f"{api}/tree/main"):
            self._answer(200, list(self._tree(path.removeprefix(f"{api}/tree/main").strip("/"))))
        else:
            self._missing("RepoNotFound")

    def do_POST(self):
        path, body = urlsplit(self.path).path, self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((path, ""))
        if path == f"/api/datasets/{self.repository}/preupload/main":
            plain = {"uploadMode": "regular", "shouldIgnore": False}
            self._answer(200, {"files": [plain | {"path": file["path"]} for file in json.loads(body)["files"]]})
        elif path == f"/api/datasets/{self.repository}/commit/main":
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            self._answer(200, {"commitUrl": f"{self.repository}/commit/{'1' * 40}", "commitOid": "1" * 40})
        else:
            self._missing("RepoNotFound")

    def _tree(self, folder):
        below = [path for path in sorted(self.files) if path.startswith(f"{folder}/" if folder else "")]
        if "recursive=true" not in self.path.lower():
            below = [path for path in below if "/" not in path.removeprefix(folder).lstrip("/")]
        for path in below:
            data = self.files[path]
            yield {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def _part(self, data):
        if data is None:
            self._missing("EntryNotFound")
        elif type(self).broken:
            type(self).broken -= 1
            self._answer(503, {"error": "try again"})
        else:
            self._answer_part(data)

    def _missing(self, code):
        self._answer(404, {"error": "not found"}, {"X-Error-Code": code})


@contextmanager
def hub(repository, files, *, broken=0):
    """Serve a data set; give the variables that send the client here, and the list of what was asked."""
    facts = {"repository": repository, "files": files, "broken": broken, "asked": []}
    handler = type("Handler", (Hub,), facts)
    with served(handler) as endpoint:
        yield {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_TOKEN": ""}, handler.asked


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
            self._answer_part(self.files[name])
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
    words = [java, "-Xmx128m", "-jar", jar, "--properties", settings]
    with listening(words, port, folder / "log"):
        keys = {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1]}
        yield {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_DEFAULT_REGION": "us-east-1", **keys}
