"""A crawl that has ended, with files that have what a test wants."""

from collections.abc import Mapping
from pathlib import Path

from tests.archive.crawling import SITE, running
from tests.archive.exchanges import AT, exchange, writer
from watchbell.archive import finishing
from watchbell.archive.model import Ending, FinishedFile
from watchbell.archive.warc.cdxj import write_index
from watchbell.store.client import Store

HOME = "https://www.example.com/"
TIMESTAMP = "20261116195051"


async def archived(
    store: Store,
    folder: Path,
    responses: Mapping[str, bytes],
    *,
    later: float = 0,
    base: str = "example.com-inf",
) -> list[str]:
    """By path: what the site answered. Returns the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
    out = writer(folder, base=base)
    for path, response in responses.items():
        out.write_exchange(exchange(path, response, at=AT + later))
    paths = out.finish()
    index = folder / f"{base}.cdxj"
    write_index(out.journal_path, index, lambda part: out.path(part).name)
    out.journal_path.unlink()
    files = tuple(FinishedFile(path.name, path.stat().st_size) for path in [*paths, index])
    owned = await running(store, SITE, url=HOME)
    await store.call("HINCRBYFLOAT", SITE, "queued_at", later)
    await finishing.finish(store, owned, Ending(finished_at=AT + later + 60, files=files))
    await finishing.expire(store, SITE)
    return [file.name for file in files]
