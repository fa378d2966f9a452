"""The role that archives websites: alone, it is a pipeline; with others, it runs one in a process
of its own as soon as there is a crawl for it."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from math import inf
from types import ModuleType

import msgspec

from watchbell import logs
from watchbell.archive import crawl_folder, pipelines, queues
from watchbell.archive.pipeline_folder import PipelineFolder
from watchbell.archive.uploading.destination import destination
from watchbell.archive.uploading.pending_uploads import PendingUploads
from watchbell.errors import Refused, WatchbellError
from watchbell.files import objects
from watchbell.process.warden_handle import raise_open_files
from watchbell.roles.pipeline_handover import MODULE, Handed
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings, environment
from watchbell.settings.sections import ArchiveIrc
from watchbell.store.client import patiently

_LOOK = 1.0
_LONGEST_LINE = 1 << 20


class PipelineEnded(WatchbellError):
    """The process of a pipeline has ended without being asked."""


def running(settings: Settings) -> list[Role]:
    if not settings.archive.concurrent:
        return []
    destination(settings.archive.upload)  # what can't be used is reported at once
    return [Role("pipeline", "archives websites", _run, stop_seconds=lambda _: inf)]


async def _run(context: Context) -> None:
    await (_run_alone if context.is_alone else _run_beside)(context)


async def _run_alone(context: Context) -> None:
    """When it is stopped, it finishes its crawls first."""
    raise_open_files()
    settings = context.settings
    files = objects.opened(settings.files, settings.data, later=True)
    module = await asyncio.to_thread(_module)
    pipeline = module.Pipeline(
        *(context.store, settings.archive, settings.data, files, context.clock),
        context.show_status,
    )
    task = asyncio.create_task(pipeline.run())  # noqa: TID251 it goes on while this one is cancelled
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        pipeline.stop()
        _report_finishing(pipeline.crawls)
        context.show_status("finishes its crawls, and takes no more")
        await asyncio.wait([task])
        raise
    task.result()
    os.kill(os.getpid(), signal.SIGTERM)  # `archive stop`: the whole process has nothing to do
    await asyncio.Event().wait()


def _module() -> ModuleType:
    """Imports late and off the event loop: beside other roles, only the process needs it."""
    from watchbell.archive import pipeline  # noqa: PLC0415

    return pipeline


def _report_finishing(crawls: int) -> None:
    if crawls:
        what = "1 crawl" if crawls == 1 else f"{crawls} crawls"
        which = "it continues" if crawls == 1 else "they continue"
        words = f"finishing {what}; press Ctrl-C again to stop now, {which} at the next start"
        logs.get(role="pipeline").info(words)


async def _run_beside(context: Context) -> None:
    """Stopped, it kills the process: the next one goes on where this one was."""
    while True:
        context.show_status("waits for a crawl")
        await _until_wanted(context)
        await _run_process(context)


async def _until_wanted(context: Context) -> None:
    folder = PipelineFolder(context.settings.data)
    uploads = PendingUploads(folder.uploads) if context.settings.archive.upload.url else None
    known = folder.known_id()
    taken = await patiently(lambda: queues.owned(context.store, known))
    if known and taken:
        return  # it was killed when it had just taken a crawl

    async def is_wanted() -> bool:
        is_left = list(crawl_folder.every(folder.crawls)) or (uploads and uploads.every())
        return bool(is_left) or await patiently(lambda: queues.is_any_waiting(context.store))

    while not await is_wanted():
        if known:
            await _say_goodbye(context, folder, known)
            known = ""
        await asyncio.sleep(_LOOK)


async def _say_goodbye(context: Context, folder: PipelineFolder, pipeline: str) -> None:
    """Of the last process, which was killed with nothing left to do: nobody need miss it."""
    with suppress(Refused), folder.locked():
        await patiently(lambda: pipelines.say_goodbye(context.store, pipeline))


async def _run_process(context: Context) -> None:
    """Until it ends by itself, as `archive stop` wishes. Raises PipelineEnded if it fails."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", MODULE),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=_LONGEST_LINE,
        env=environment(),
        start_new_session=True,
    )
    try:
        assert process.stdin
        process.stdin.write(_handed(context).packed())
        async with asyncio.TaskGroup() as group:
            group.create_task(_show(context, process))
            group.create_task(_relay(process))
            code = await process.wait()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if code:
        how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with {code}"
        raise PipelineEnded(f"the process of the pipeline {how}")
    context.show_status("was stopped; start it again with `watchbell up`")
    await asyncio.Event().wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _handed(context: Context) -> Handed:
    settings = context.settings
    archive = msgspec.structs.replace(settings.archive, irc=ArchiveIrc())
    return Handed(
        context.store.url, archive, settings.files, str(settings.data), settings.log.level
    )


async def _show(context: Context, process: Process) -> None:
    assert process.stdout
    async for line in process.stdout:
        context.show_status(line.decode(errors="replace").strip())


async def _relay(process: Process) -> None:
    """Logs what the process logs."""
    assert process.stderr
    log = logs.get(role="pipeline")
    async for line in process.stderr:
        fields = _fields(line)
        level, event = str(fields.pop("level", "error")), str(fields.pop("event", ""))
        write = log.error if level == "error" else log.warning if level == "warning" else log.info
        write(event, **fields)


def _fields(line: bytes) -> dict[str, object]:
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.MsgspecError:  # a traceback, say
        return {"event": line.decode(errors="replace").rstrip()}
    return {name: value for name, value in fields.items() if name not in ("timestamp", "role")}


ROLE = Several("pipeline", "archives websites", running)
