"""The names of finished files, and their move."""

from pathlib import Path

from watchbell.archive import crawl_files
from watchbell.archive.model import Crawl, FinishedFile

CRAWL = Crawl(ident="43z7a11vo6of3a7i173441dtc", url="http://a.example/", slug="a.example-inf")
BASE = "a.example-inf-20260301-120000-43z7a"


def test_files_are_named_by_slug_time_and_ident() -> None:
    assert crawl_files.base_name(CRAWL, 1_772_366_400.9) == BASE
    name = f"{BASE}-00000.warc.gz"
    assert crawl_files.final_name(name, BASE, "") == name
    assert crawl_files.final_name(name, BASE, "aborted") == f"{BASE}-aborted-00000.warc.gz"


def test_a_move_that_was_interrupted_is_continued(tmp_path: Path) -> None:
    working, finished = tmp_path / "working", tmp_path / "finished"
    working.mkdir()
    files = [working / f"{BASE}-00000.warc.gz", working / f"{BASE}.json"]
    for path in files:
        path.write_text(path.name)
    crawl_files.move(files[:1], finished, BASE, "")
    moved = crawl_files.move(files, finished, BASE, "")
    assert moved == tuple(FinishedFile(path.name, len(path.name)) for path in files)
    assert list(working.iterdir()) == []
    assert (finished / files[1].name).read_text() == files[1].name
