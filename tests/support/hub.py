"""A Hugging Face hub of a test's own, with one data set: what its client needs to list, read and write files."""

import base64
import hashlib
import json
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from support.json_server import JsonHandler, served

__all__ = ["hub"]


class Hub(JsonHandler):
    """Serves `files` by their paths in the data set, and keeps the paths and ranges that were asked for."""

    repository, files, broken = "", {}, 0  # So many answers with a part of a file fail before the others.

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
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            part = data[int(first) : int(last) + 1]
            said = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
            self._answer(206, part, {"Content-Range": said})

    def _missing(self, code):
        self._answer(404, {"error": "not found"}, {"X-Error-Code": code})


@contextmanager
def hub(repository, files, *, broken=0):
    """Serve a data set; give the variables that send the client here, and the list of what was asked."""
    facts = {"repository": repository, "files": files, "broken": broken, "asked": []}
    handler = type("Handler", (Hub,), facts)
    with served(handler) as endpoint:
        yield {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_TOKEN": ""}, handler.asked
