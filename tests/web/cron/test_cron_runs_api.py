"""Runs over HTTP: what is under way, what ended, what was printed, and watching it live."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientTimeout

from tests.cron.crew import definition, ended, put, running, say, serving
from tests.cron.test_job_cache import result
from tests.runs.test_output_store import printed
from tests.waiting import PATIENCE, eventually
from tests.web.cron.test_cron_api import last_noted
from tests.web.site import Site, Visitor
from watchbell.cron.keys import Cron, CronOwn
from watchbell.store.client import Store
from watchbell.web.cron import run_view

AT = 1_790_000_000
RUNS = "/api/v1/cron/runs"
RUN = f"{RUNS}/run"


async def of_status(store: Store, status: str, **more: Any) -> None:
    """A run called `run`, as the store has it."""
    keys = Cron(store.prefix)
    record = {"job_name": "a/ü", "start_time": AT, "host": "h", "status": status, **more}
    await store.call("HSET", keys.runs(), "run", json.dumps(record))
    if status == "running":
        await store.call("ZADD", keys.active(), AT, "run")


async def omitted(store: Store, job: str, first: int) -> None:
    own = CronOwn(store.prefix)
    one = {"job": job, "first": first, "last": first, "count": 1, "reason": "no room", "at": AT}
    for key in (own.omissions(), own.job_omissions(job)):
        await store.call("LPUSH", key, json.dumps(one))


@asynccontextmanager
async def watching(visitor: Visitor, path: str, **more: Any) -> AsyncIterator[ClientResponse]:
    timeout = ClientTimeout(total=PATIENCE)
    async with visitor.http.get(visitor.site.url + path, timeout=timeout, **more) as answer:
        assert answer.status == 200
        yield answer


async def told(answer: ClientResponse) -> tuple[str, Any, str]:
    """The next event: its name, what it says, and its id."""
    fields: dict[str, str] = {}
    while line := (await answer.content.readline()).decode().rstrip("\n"):
        name, _, value = line.partition(": ")
        fields[name] = value
    if "event" not in fields:
        assert not answer.content.at_eof(), "the stream is over"
        return await told(answer)
    return fields["event"], json.loads(fields["data"]), fields.get("id", "")


async def test_ended_runs_come_in_pages_the_newest_first(site: Site, store: Store) -> None:
    for n in range(9):
        await result(store, "a", "fail" if n % 3 == 0 else "success", AT + n // 2, f"r{n}")
    await result(store, "b", "success", AT, "other")
    async with site.somebody("viewer") as bob:
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query = {"job": "a", "limit": 2, "cursor": cursor}
            page = (await bob.get(RUNS, params=query)).json()
            seen += [run["id"] for run in page["items"]]
            cursor = page["next"]
        assert seen == [f"r{n}" for n in reversed(range(9))]
        failed = (await bob.get(RUNS, params={"job": "a", "only": "fail"})).json()["items"]
        assert [run["id"] for run in failed] == ["r6", "r3", "r0"]
        assert failed[0]["words"] == "it was not started"
        assert (await bob.get(RUNS, params={"cursor": "x"})).status == 400
        assert (await bob.get(RUNS, params={"only": "maybe"})).status == 400


async def test_omissions_say_why(site: Site, store: Store) -> None:
    for n in range(5):
        await omitted(store, "a", AT + n)
    await omitted(store, "b", AT)
    async with site.somebody("viewer") as bob:
        whole = (await bob.get("/api/v1/cron/omissions")).json()
        assert (len(whole["items"]), whole["items"][0]["reason"]) == (6, "no room")
        page = (await bob.get("/api/v1/cron/omissions?job=a&limit=3")).json()
        rest = (await bob.get(f"/api/v1/cron/omissions?job=a&limit=3&cursor={page['next']}")).json()
        firsts = [one["first"] - AT for one in page["items"] + rest["items"]]
        assert (firsts, rest["next"]) == ([4, 3, 2, 1, 0], None)
        for cursor in ("x", "-1", "²", "9" * 50):
            answer = await bob.get("/api/v1/cron/omissions", params={"cursor": cursor})
            assert answer.status == 400


async def test_a_run_is_watched_from_its_first_line_to_its_end(
    site: Site, store: Store, tmp_path: Path
) -> None:
    command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo done; exit 3"
    await put(store, "a", definition(command, folder=str(tmp_path)))
    async with serving(store, tmp_path), site.somebody("operator") as bob:
        await say(store, "trigger", "a")
        run = (await running(store, "a"))[0].id
        active = (await bob.get(f"{RUNS}/active?job=a")).json()["items"]
        assert [(one["id"], one["why"]) for one in active] == [(run, "trigger")]
        assert (await bob.get(f"{RUNS}/active?job=b")).json()["items"] == []
        async with watching(bob, f"{RUNS}/{run}/live") as answer:
            events = [await told(answer), await told(answer)]
            while not any(name == "lines" for name, _, _ in events):
                events.append(await told(answer))
            (tmp_path / "go").touch()
            while events[-1][0] != "end":
                events.append(await told(answer))
        lines = [
            line["text"] for name, said, _ in events if name == "lines" for line in said["lines"]
        ]
        assert lines == ["begun", "done"]
        end = events[-1][1]
        assert (end["status"], end["retcode"], end["words"]) == ("fail", 3, "exit code 3")
        whole = (await bob.get(f"{RUNS}/{run}")).json()
        assert whole["tail"] == "begun\ndone\n"
        assert whole["run"]["ended"] > whole["run"]["start"]


async def test_a_reader_goes_on_after_the_last_line_that_it_has(
    site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_view, "LINGER", 0)
    await of_status(store, "success", retcode=0, duration=1.5)
    await printed(store, range(1, 11))
    async with site.somebody("viewer") as bob:
        async with watching(bob, f"{RUN}/live") as answer:
            name, said, last = await told(answer)
            assert (name, len(said["lines"]), said["skipped"]) == ("lines", 10, 0)
            assert (await told(answer))[0] == "end"
            assert await answer.content.read() == b""
        await printed(store, range(11, 13))
        async with watching(bob, f"{RUN}/live", headers={"Last-Event-ID": last}) as answer:
            _, said, _ = await told(answer)
            assert (said["start"], [line["n"] for line in said["lines"]]) == (10, [11, 12])
        async with watching(bob, f"{RUN}/live?resume=strange") as answer:
            assert (await told(answer))[:2] == ("reset", None)
            assert (await told(answer))[1]["start"] == 0


async def test_of_very_much_the_newest_is_told_and_how_much_was_left_out(
    site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_view, "LIVE_LINES", 5)
    await of_status(store, "running")
    await printed(store, range(1, 4))
    async with site.somebody("viewer") as bob, watching(bob, f"{RUN}/live") as answer:
        assert (await told(answer))[1]["skipped"] == 0
        assert (await told(answer))[0] == "status"
        await printed(store, range(4, 41))
        skipped, newest = 0, 0
        while newest < 40:
            _, said, _ = await told(answer)
            assert len(said["lines"]) <= 5
            skipped += said["skipped"]
            newest = said["lines"][-1]["n"]
            assert said["start"] + len(said["lines"]) == said["total"] or newest < 40
        assert skipped > 0
        rest = (await bob.get(f"{RUN}/output?start=3&limit=2")).json()
        assert [line["n"] for line in rest["lines"]] == [4, 5]


async def test_a_run_that_floods_is_watched_in_pieces(
    site: Site, store: Store, tmp_path: Path
) -> None:
    await put(store, "flood", definition("yes 0123456789012345678901234567890123456789"))
    async with serving(store, tmp_path, output_limit=1), site.somebody("operator") as bob:
        await say(store, "trigger", "flood")
        run = (await running(store, "flood"))[0].id
        async with watching(bob, f"{RUNS}/{run}/live") as answer:
            largest = 0
            while True:
                name, said, _ = await told(answer)
                if name != "lines":
                    continue
                largest = max(largest, len(json.dumps(said)))
                if said["complete"] < said["total"] and said["skipped"]:
                    break
            assert largest < 2 << 20
            assert (await bob.post(f"{RUNS}/{run}/kill")).status == 204
            while name != "end":
                name, said, _ = await told(answer)
        assert said["words"].startswith("it was killed on request")
        shown = (await bob.get(f"{RUNS}/{run}/output?limit=5")).json()
        assert shown["complete"] < shown["total"]


async def test_a_run_that_is_forgotten_while_it_is_watched_is_gone(
    site: Site, store: Store
) -> None:
    await of_status(store, "running")
    async with site.somebody("viewer") as bob, watching(bob, f"{RUN}/live") as answer:
        assert (await told(answer))[0] == "status"
        await store.call("HDEL", Cron(store.prefix).runs(), "run")
        assert (await told(answer))[0] == "gone"


async def test_output_is_read_from_either_end_and_around_a_line(site: Site, store: Store) -> None:
    await of_status(store, "success")
    await printed(store, [*range(1, 31), *range(100, 111)])
    await printed(store, [111], b"50%\r")
    await printed(store, [112], b"\xff\x1b[31m<script>\r\n")
    async with site.somebody("viewer") as bob:

        async def numbers(query: str) -> tuple[int, list[int]]:
            shown = (await bob.get(f"{RUN}/output?{query}")).json()
            assert (shown["total"], shown["complete"]) == (43, 30)
            return shown["start"], [line["n"] for line in shown["lines"]]

        assert await numbers("start=0&limit=2") == (0, [1, 2])
        assert await numbers("limit=2") == (41, [111, 112])
        assert await numbers("end=31&limit=2") == (29, [30, 100])
        assert await numbers("start=5&end=7") == (5, [6, 7])
        assert await numbers("around=20&limit=4") == (18, [19, 20, 21, 22])
        last = (await bob.get(f"{RUN}/output?limit=2")).json()["lines"]
        assert [line["text"] for line in last] == [
            "50%\r",
            "\N{REPLACEMENT CHARACTER}\x1b[31m<script>",
        ]
        assert last[0]["at"] == pytest.approx(AT + 0.111)
        for query in ("start=-1", "limit=0", "limit=999999", f"end={1 << 50}"):
            assert (await bob.get(f"{RUN}/output?{query}")).status == 400


async def test_output_is_searched_on_the_server(site: Site, store: Store) -> None:
    await of_status(store, "success")
    await printed(store, range(1, 31))
    async with site.somebody("viewer") as bob:

        async def hits(**query: Any) -> Any:
            return (await bob.get(f"{RUN}/search", params=query)).json()

        assert await hits(text="LINE 3") == {"places": [2, 29], "next": None}
        assert await hits(text="line 3", start=3) == {"places": [29], "next": None}
        assert (await hits(text="line 3", backward="true"))["places"] == [29, 2]
        assert (await hits(text="line 3", backward="true", start=29))["places"] == [2]
        assert (await bob.get(f"{RUN}/search")).status == 400


async def test_output_is_downloaded_as_it_was_printed(site: Site, store: Store) -> None:
    await of_status(store, "success", output="the last line\n")
    async with site.somebody("viewer") as bob:
        answer = await bob.get(f"{RUN}/download")
        assert answer.text == "[only the last lines are kept]\nthe last line\n"
        await printed(store, range(1, 4_001))
        await printed(store, [4_001], b"\xff<script>\x1b[0m\r\n")
        answer = await bob.get(f"{RUN}/download")
        assert answer.body.count(b"\n") == 4_001
        assert answer.body.endswith(b"\xff<script>\x1b[0m\r\n")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        name = 'attachment; filename="a-20260921T141320Z.txt"'
        assert answer.headers["Content-Disposition"] == name


async def test_a_run_is_terminated_and_another_killed(
    site: Site, store: Store, tmp_path: Path
) -> None:
    await put(store, "a", definition("sleep 100"))
    async with serving(store, tmp_path), site.somebody("operator") as bob:
        for count, verb, words in (
            (1, "terminate", "it was terminated on request; ended by SIGTERM"),
            (2, "kill", "it was killed on request; ended by SIGKILL"),
        ):
            await say(store, "trigger", "a")
            run = (await running(store, "a"))[0].id
            assert (await bob.post(f"{RUNS}/{run}/{verb}")).status == 204
            assert await last_noted(store) == (f"cron.{verb}", "a")
            last = (await ended(store, "a", count))[-1]
            shown = (await bob.get(f"{RUNS}/{last.id}")).json()["run"]
            assert shown["words"].startswith(words)
            assert (await bob.post(f"{RUNS}/{run}/{verb}")).status == 404


async def test_a_stream_is_let_go_of_when_its_reader_is_gone(site: Site, store: Store) -> None:
    await of_status(store, "running")
    async with site.somebody("viewer") as bob:
        async with watching(bob, f"{RUN}/live") as answer:
            assert (await told(answer))[0] == "status"
            assert site.services.streams.open == 1
        await eventually(lambda: site.services.streams.open == 0)


async def test_every_endpoint_of_runs_refuses_the_wrong_role(site: Site, store: Store) -> None:
    await of_status(store, "success")
    looks = [RUNS, f"{RUNS}/active", "/api/v1/cron/omissions", RUN]
    looks += [f"{RUN}/{part}" for part in ("output", "search?text=a", "download", "live")]
    async with (
        site.stranger() as stranger,
        site.program("intake") as reporter,
        site.somebody("viewer") as viewer,
    ):
        for path in looks:
            assert (await stranger.get(path)).status == 401, path
            assert (await reporter.get(path)).status == 403, path
            assert (await viewer.get(path)).status == 200, path
        for verb in ("terminate", "kill"):
            assert (await stranger.post(f"{RUN}/{verb}")).status == 401
            assert (await viewer.post(f"{RUN}/{verb}")).status == 403
        for part in ("", "/output", "/search?text=a", "/download", "/live"):
            assert (await viewer.get(f"{RUNS}/unknown{part}")).status == 404, part
    async with site.somebody("operator") as operator:
        assert (await operator.post(f"{RUNS}/unknown/kill")).status == 404
        assert (await operator.post(f"{RUN}/kill")).status == 404


async def test_whatever_was_written_of_runs_stops_nothing(site: Site, store: Store) -> None:
    keys = Cron(store.prefix)
    await store.call("HSET", keys.runs(), "run", b"\xff", "list", "[1]")
    for name in ("run", "list", b"\xff", "missing"):
        await store.call("ZADD", keys.results("fail"), AT, name)
        await store.call("ZADD", keys.active(), AT, name)
    await store.call("LPUSH", CronOwn(store.prefix).omissions(), b"\xff")
    async with site.somebody("viewer") as bob, asyncio.timeout(60):
        for path in (RUNS, f"{RUNS}/active", "/api/v1/cron/omissions", "/api/v1/cron/jobs"):
            answer = await bob.get(path)
            assert (answer.status, answer.json()["items"]) == (200, []), path
        assert (await bob.get(RUN)).status == 404
