"""A release server and an npm registry on loopback, over the files that scripts/dist made.

Owns what is served. Stands in for GitHub's releases and for npm's registry, and knows no more of the latter than `npm install` asks.
"""

import base64
import hashlib
import io
import json
import tarfile
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class ReleaseServer:
    """Serves `folder` at `url`, and its `npm/*.tgz` as packages at `registry`. What is in `replaced` is served instead."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.replaced: dict[str, bytes] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = server.answer(urllib.parse.unquote(self.path))
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                try:
                    self.wfile.write(body or b"")
                except BrokenPipeError:
                    # npm hangs up on what it no longer wants.
                    pass

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self.registry = f"{self.url}/registry/"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def answer(self, path: str) -> bytes | None:
        if path.startswith("/registry/"):
            return self._package(path.removeprefix("/registry/"))
        if path in self.replaced:
            return self.replaced[path]
        file = self.folder / path.lstrip("/")
        return file.read_bytes() if file.is_file() else None

    def _package(self, name: str) -> bytes | None:
        for file in (self.folder / "npm").glob("*.tgz"):
            data = file.read_bytes()
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                manifest = json.load(tar.extractfile("package/package.json"))
            if manifest["name"] != name:
                continue
            digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
            manifest["dist"] = {"tarball": f"{self.url}/npm/{file.name}", "integrity": f"sha512-{digest}"}
            version = manifest["version"]
            return json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}).encode()
        return None

    def close(self):
        self._http.shutdown()
        self._http.server_close()
