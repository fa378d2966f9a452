"""The API's description is true: whatever fits it, or does not, is answered as it says."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tests.web.site import BY, Site, served
from watchbell.store.client import Store
from watchbell.web.assets import files

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)

# Streams have no end.
ENDLESS = "/live$"
PARTS = {
    "c": ("--include-path-regex", "^/api/v1/c", "--exclude-path-regex", ENDLESS),
    "a, e-l": ("--include-path-regex", "^/api/v1/[abd-l]", "--exclude-path-regex", ENDLESS),
    "others": ("--exclude-path-regex", f"{ENDLESS}|^/api/v1/[a-l]"),
}
"""Three parts of the API, about equally large."""


@pytest.mark.timeout(900)  # the time it takes is that of very many requests
@pytest.mark.parametrize("part", PARTS)
async def test_strangers_are_answered_as_the_description_says(
    store: Store, tmp_path: Path, request: pytest.FixtureRequest, part: str
) -> None:
    examples = "15" if request.config.getoption("--long") else "3"
    async with served(store, intake_rate=0) as site:
        secret, _ = await site.services.api_keys.make("schemathesis", ("admin",), BY)
        described = tmp_path / "openapi.json"
        async with site.program("read") as program:  # schemathesis would wait for 10 s only
            described.write_text((await program.get("/api/v1/openapi.json")).text)
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", str(described)),
            *("--url", site.url, "--request-timeout", str(PATIENCE)),
            *("--header", f"Authorization: Bearer {secret}", "--checks", CHECKS),
            *("--max-examples", examples, "--phases", "examples,coverage,fuzzing", "--no-color"),
            # It would find its own key among those that are listed.
            *("--exclude-path", "/api/v1/api-keys/{id}", *PARTS[part]),
            *("--generation-database", "none", "--seed", "1", "--workers", "1"),
        ]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode == 0, done.stdout[-8_000:]
    ran = re.search(r"(\d+) generated", done.stdout)
    assert ran is not None
    assert int(ran[1]) > 100


async def test_the_description_tells_of_every_endpoint_of_the_api(site: Site) -> None:
    async with site.program("read") as program:
        told = (await program.get("/api/v1/openapi.json")).json()
    assert told["openapi"].startswith("3.")
    assert "/api/v1/check-events" in told["paths"]
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], f"{method} {path}"
            assert "503" in operation["responses"]
            content = operation["responses"]["400"]["content"]
            assert list(content) == ["application/problem+json"]


async def test_components_have_short_names(site: Site) -> None:
    async with site.program("read") as program:
        answer = await program.get("/api/v1/openapi.json")
    names = answer.json()["components"]["schemas"].keys()
    assert [name for name in names if not re.fullmatch("[A-Z][A-Za-z]+", name)] == []
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', answer.text))
    assert references
    assert references <= {f"#/components/schemas/{name}" for name in names}


async def test_every_operation_has_a_summary_of_one_sentence(site: Site) -> None:
    async with site.program("read") as program:
        described = (await program.get("/api/v1/openapi.json")).json()
    summaries = [one["summary"] for path in described["paths"].values() for one in path.values()]
    assert [text for text in summaries if not re.fullmatch(r"[A-Z].{5,}[^.]", text)] == []


async def test_pages_ask_no_other_host(site: Site) -> None:
    async with site.somebody("viewer") as alice:
        page = await alice.get("/api")
        door = await alice.get("/sign-in")
        account = await alice.get("/account")
    assert page.status == 200
    for each in (page, door, account):
        loaded = re.findall(r"(?:src|href|action)=[\"']?([^\"' >]+)", each.text)
        assert loaded
        assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in loaded)
        assert "<style" not in each.text
        assert not re.search(r"<script(?! (?:type=\"module\" )?src=)", each.text)
        assert not re.search(r"\son\w+=|style=", each.text)


async def test_files_of_the_pages_are_kept_by_browsers_and_renamed_when_they_change(
    site: Site,
) -> None:
    async with site.stranger() as visitor:
        style = await visitor.get(files().url("style/base.css"))
        packed = await visitor.get(
            files().url("style/base.css"), headers={"Accept-Encoding": "gzip"}
        )
        other = await visitor.get("/static/0123456789abcdef/style/base.css")
    assert style.headers["Content-Type"].startswith("text/css")
    assert "immutable" in style.headers["Cache-Control"]
    assert packed.headers["Content-Encoding"] == "gzip"
    assert other.status == 404
