"""The static files of the pages, under names that change with their content."""

import gzip
import hashlib
import posixpath
import re
from functools import cache
from pathlib import Path

from msgspec import Struct

_FOLDER = Path(__file__).with_name("ui")
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_SERVED = ("app", "lib", "style")
_LIBRARIES = {
    "preact": "preact.js",
    "preact/hooks": "hooks.js",
    "htm": "htm.js",
    "htm/preact": "htm-preact.js",
    "uplot": "uplot.js",
}
_STATIC = re.compile(rb"""\bfrom\s*["']([./][^"'\n]*)["']""")
_IMPORT = re.compile(rb"""((?:\bfrom|\bimport)\s*\(?\s*)["']([\w/]+)["']""")


class File(Struct, frozen=True):
    content: bytes
    kind: str
    packed: bytes


class Files(Struct, frozen=True):
    """All files by their paths; no other file can be requested."""

    digest: str
    by_path: dict[str, File]

    def url(self, path: str) -> str:
        assert path in self.by_path, path
        return f"/static/{self.digest}/{path}"

    def modules(self, *beginnings: str) -> list[str]:
        """These and all that they import, so that a browser requests them at once."""
        root, wanted = f"/static/{self.digest}", list(beginnings)
        for path in wanted:  # which grows
            folder = posixpath.join(root, posixpath.dirname(path))
            for name in _STATIC.findall(self.by_path[path].content):
                place = posixpath.relpath(posixpath.join(folder, name.decode()), root)
                if place not in wanted:
                    wanted.append(place)
        return [self.url(path) for path in wanted]

    def styles(self) -> list[str]:
        return [self.url(path) for path in self.by_path if path.endswith(".css")]


@cache
def files() -> Files:
    found = {
        path.relative_to(_FOLDER).as_posix(): path.read_bytes()
        for folder in _SERVED
        for path in sorted((_FOLDER / folder).rglob("*"))
        if path.suffix in _KINDS
    }
    digest = hashlib.sha256()
    for path, content in found.items():
        digest.update(b"%s\0%d\0%s" % (path.encode(), len(content), content))
    name = digest.hexdigest()[:16]
    return Files(name, {path: _file(path, content, name) for path, content in found.items()})


def _file(path: str, content: bytes, digest: str) -> File:
    if path.endswith(".js"):
        content = _IMPORT.sub(lambda found: _placed(found, digest), content)
    return File(content, _KINDS[Path(path).suffix], gzip.compress(content, mtime=0))


def _placed(found: re.Match[bytes], digest: str) -> bytes:
    """Browsers can't resolve package names, so imports by name get a path on this server."""
    library = _LIBRARIES.get(found[2].decode())
    if library is None:
        return found[0]
    return b'%s"/static/%s/lib/%s"' % (found[1], digest.encode(), library.encode())
