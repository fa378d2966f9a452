"""Processes that a command left behind and that were ended: the run says so."""

from pathlib import Path

from tests.cron.crew import definition, ended, put, serving
from watchbell.cron import jobs, run_texts
from watchbell.store.client import Store


async def test_a_run_names_the_processes_that_were_ended_after_it(
    store: Store, folder: Path
) -> None:
    leave = 'sleep 600 & until test "$(</proc/$!/comm)" = sleep; do :; done; echo $!'
    await put(store, "messy", definition(leave, linger=0))
    await put(store, "stubborn", definition(f"trap '' TERM; {leave}", linger=0))
    await put(store, "tidy", definition("sleep 0.2 &", linger=600))
    async with serving(store, folder):
        found = {}
        for name in ("messy", "stubborn", "tidy"):
            await jobs.trigger(store, name)
            [found[name]] = await ended(store, name)
    for name in ("messy", "stubborn"):
        seen = found[name]
        pid = (seen.record.output or "").strip()
        assert seen.record.status == "success"
        assert seen.detail.leftovers == (f"sleep ({pid})",)
        said = run_texts.ending(seen.record, seen.detail)
        assert said == f"done; processes that it left behind were ended: sleep ({pid})"
    assert found["tidy"].detail.leftovers == ()
