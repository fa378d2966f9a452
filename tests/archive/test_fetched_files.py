"""From the wire to the file: what odd servers send makes WARC files that other programs accept."""

from pathlib import Path

from tests.archive.test_framing import CUT, UNTIL_CLOSED, WHOLE
from tests.archive.warc_gate import gate
from tests.archive.wire_server import serving
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Fetched, Request, networks
from watchbell.archive.warc.records import Exchange
from watchbell.archive.warc.writer import WarcWriter


def recorded(one: Fetched) -> Exchange:
    return Exchange(
        url=one.url,
        at=one.started,
        ip=one.ip,
        request=one.request,
        response=one.response,
        head_size=one.head_size,
        truncated=one.truncated,
    )


async def test_odd_responses_make_valid_files(folder: Path) -> None:
    """All but chunks with bare line feeds, which pywb does not read."""
    whole = [raw for name, (raw, _) in WHOLE.items() if name != "odd chunks"]
    sent = [*whole, *UNTIL_CLOSED.values(), *(raw for raw, _ in CUT)]
    fetcher = Fetcher(networks(allow_private=True), folder)
    writer = WarcWriter(folder, "odd", info={"software": "tests"})
    statuses = []
    async with serving({f"/{number}": raw for number, raw in enumerate(sent)}) as site:
        site.closing.update(site.pages)
        for path in site.pages:
            one = await fetcher.fetch(Request(url=site.url(path)))
            statuses.append(one.status)
            if one.status:
                writer.write_exchange(recorded(one))
            one.response.close()
    fetcher.close()
    paths = writer.finish()
    writer.close()
    assert statuses.count(0) == 3
    await gate(paths)
