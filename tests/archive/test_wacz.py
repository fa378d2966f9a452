import json
import zipfile
from pathlib import Path

from tests.archive.exchanges import AT, exchange, http, noise, writer
from tests.archive.test_cdxj import journalled
from tests.archive.warc_gate import accepted, gate, tools
from watchbell.archive.warc.wacz import write_wacz


def made(folder: Path) -> tuple[list[Path], Path]:
    out = writer(folder, part_size=20_000)
    for number in range(20):
        out.write_exchange(exchange(f"{number:02}", http(noise(2500, number))))
    out.write_exchange(exchange("image", http(noise(900), kind="image/png")))
    out.write_exchange(exchange("gone", http(b"gone", status="404 Not Found")))
    paths, index = journalled(out, folder)
    target = folder / "example.com-inf.wacz"
    write_wacz(target, paths, index, title="example.com", created=AT)
    return paths, target


async def test_other_programs_accept_a_wacz(tmp_path: Path) -> None:
    _, target = made(tmp_path)
    printed = await accepted(tools() / "wacz", "validate", "-f", str(target))
    assert "valid" in printed.lower()


async def test_a_wacz_holds_files_index_and_pages(tmp_path: Path) -> None:
    paths, target = made(tmp_path)
    assert len(paths) > 1
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(target) as archive:
        archive.extractall(unpacked)
        stored = [one for one in archive.infolist() if one.filename.startswith("archive/")]
    assert all(one.compress_type == zipfile.ZIP_STORED for one in stored)
    header, *pages = (unpacked / "pages/pages.jsonl").read_text().splitlines()
    assert json.loads(header)["format"] == "json-pages-1.0"
    assert [json.loads(page)["url"][-3:] for page in pages] == [f"/{n:02}" for n in range(20)]
    inside = [unpacked / "archive" / path.name for path in paths]
    assert await gate(inside, index=unpacked / "indexes/index.cdxj") == 22


def test_an_unfinished_wacz_has_another_name(tmp_path: Path) -> None:
    _, target = made(tmp_path)
    assert target.exists()
    assert not target.with_name(target.name + ".open").exists()
