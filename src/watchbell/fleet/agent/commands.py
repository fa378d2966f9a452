"""Runs the commands of this server: each once a minute, and any of them when a person asks."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from watchbell import __version__, ids, logs
from watchbell.clock import Clock
from watchbell.errors import Refused
from watchbell.fleet import command_values
from watchbell.fleet.agent import accounts, command_output, job_command
from watchbell.fleet.machine_sample import MOST_COMMANDS
from watchbell.fleet.messages import RanOnce
from watchbell.fleet.model import Command, CommandOutcome, OutputFormat
from watchbell.process import command as process
from watchbell.process.command import Ending
from watchbell.process.output import Volume
from watchbell.process.run import Cause, Ended, Run
from watchbell.process.runner import Runner

_GRACE = 1.0
"""Seconds from SIGTERM to SIGKILL."""
_MOST_ASKED = 10
"""Commands of people that run at the same time."""
_LONGEST_ERROR = 500
_VOLUME = Volume(
    complete=command_values.MOST_BYTES + 1, newest=1, waiting=command_values.MOST_BYTES + 1
)


class Results(Struct, frozen=True):
    """What the last runs gave, by command."""

    outputs: dict[str, Any]
    errors: dict[str, str]


class Commands:
    def __init__(
        self,
        runner: Runner,
        folder: Path,
        users: Sequence[str],
        clock: Clock,
        group: asyncio.TaskGroup,
    ) -> None:
        self._runner, self._folder, self._users = runner, folder, users
        self._clock, self._group = clock, group
        shutil.rmtree(folder, ignore_errors=True)  # what a killed agent has left
        self._commands: dict[str, Command] = {}
        self._outcomes: dict[str, CommandOutcome] = {}
        self._running: set[str] = set()
        self._asked = 0

    def replace(self, commands: Sequence[Command]) -> None:
        """From now on these; what is new or was changed runs at once."""
        before = self._commands
        self._commands = {one.id: one for one in commands[:MOST_COMMANDS]}
        for id_, command in self._commands.items():
            if before.get(id_) != command:
                self._outcomes.pop(id_, None)
                self._begin(command)
        for id_ in self._outcomes.keys() - self._commands.keys():
            del self._outcomes[id_]

    def start_all(self) -> None:
        for command in self._commands.values():
            self._begin(command)

    def results(self) -> Results:
        """Outputs beyond what all together may have are left out, and named among the errors."""
        outputs: dict[str, Any] = {}
        errors: dict[str, str] = {}
        left = command_values.MOST_IN_ALL
        for id_, outcome in self._outcomes.items():
            if outcome.error:
                errors[id_] = outcome.error
            size = len(msgspec.msgpack.encode(outcome.output))
            if size > left:
                errors[id_] = "its output is left out: all outputs together are too long"
            elif outcome.output is not None:
                outputs[id_] = outcome.output
                left -= size
        return Results(outputs, errors)

    def run_once(self, request: str, command: Command, answer: Callable[[RanOnce], None]) -> None:
        """Runs a command for a person."""
        if self._asked >= _MOST_ASKED:
            error = f"{_MOST_ASKED} commands that people asked for run already"
            answer(RanOnce(request=request, outcome=CommandOutcome(id=command.id, error=error)))
            return
        self._asked += 1
        self._group.create_task(self._run_asked(request, command, answer))

    async def _run_asked(
        self, request: str, command: Command, answer: Callable[[RanOnce], None]
    ) -> None:
        try:
            outcome = await self._outcome(command, with_text=True)
        finally:
            self._asked -= 1
        answer(RanOnce(request=request, outcome=outcome))

    def _begin(self, command: Command) -> None:
        """One that still runs is not started again."""
        if command.id not in self._running:
            self._running.add(command.id)
            self._group.create_task(self._run(command), name=f"command {command.id}")

    async def _run(self, command: Command) -> None:
        try:
            outcome = await self._outcome(command)
        finally:
            self._running.discard(command.id)
        if self._commands.get(command.id) == command:
            self._outcomes[command.id] = outcome
        elif (changed := self._commands.get(command.id)) is not None:
            self._begin(changed)

    async def _outcome(self, command: Command, *, with_text: bool = False) -> CommandOutcome:
        begun = self._clock.monotonic()
        try:
            content, error = await self._printed(command)
            output, problem = _parsed(command.format, content)
        except (Refused, OSError) as refused:
            return CommandOutcome(id=command.id, error=str(refused)[:_LONGEST_ERROR])
        except Exception as failure:  # noqa: BLE001 one command must not end the agent
            logs.get(role="agent").exception("a command failed", command=command.id)
            return CommandOutcome(id=command.id, error=f"the agent has failed: {failure!r}")
        return CommandOutcome(
            id=command.id,
            output=output,
            error=(error or problem)[:_LONGEST_ERROR],
            text=content.decode(errors="replace") if with_text else "",
            elapsed=round(self._clock.monotonic() - begun, 3),
        )

    async def _printed(self, command: Command) -> tuple[bytes, str]:
        """What it printed, and what was wrong."""
        ending = Ending(time_limit=command.timeout, grace=_GRACE, linger=0)
        async with self._prepared(command) as prepared:
            name = f"command-{command.id}-{ids.token()}"
            terms = process.Terms(note=name)
            run = await self._runner.start(name, prepared, ending, _VOLUME, terms)
            try:
                content, is_too_long = await _read(run)
                if is_too_long:
                    run.kill()
                ended = await run.ended()
            except asyncio.CancelledError:
                run.kill()
                raise
            finally:
                run.forget()
        if is_too_long:
            most = command_values.MOST_BYTES >> 10
            return content, f"it printed more than {most} KiB, and was killed"
        return content, _problem(ended, command.timeout)

    @asynccontextmanager
    async def _prepared(self, command: Command) -> AsyncIterator[process.Command]:
        self._folder.mkdir(mode=0o711, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as made:
            folder = Path(made)
            script = folder / "script"
            wish = {"command": command.command, "script": command.script}
            argv = job_command.argv(wish, script)
            user, group = accounts.allowed({"uid": command.uid, "gid": command.gid}, self._users)
            job_command.write_script(wish, script)
            if user:
                _hand_over(user, folder, script)
            yield process.Command(
                argv=argv,
                environment={
                    **command.env,
                    "WATCHBELL": __version__,
                    "WATCHBELL_COMMAND": command.id,
                },
                folder=command.cwd or str(folder),
                user=user,
                group=group,
            )


def _hand_over(user: str, *paths: Path) -> None:
    owner = accounts.other_owner({"uid": user})
    if owner is not None:
        for path in paths:
            if path.exists():
                os.chown(path, owner, -1)


async def _read(run: Run) -> tuple[bytes, bool]:
    """What it prints, and whether that is too long."""
    content = b""
    async with aclosing(run.batches()) as batches:
        async for batch in batches:
            content += b"".join(text for part in batch.parts for text in part.texts)
            if len(content) > command_values.MOST_BYTES:
                return content[: command_values.MOST_BYTES], True
    return content, False


def _parsed(kind: OutputFormat, content: bytes) -> tuple[Any, str]:
    """The value, and what was wrong."""
    try:
        return command_output.parsed(kind, content), ""
    except Refused as refused:
        return None, str(refused)


def _problem(ended: Ended, timeout: float) -> str:
    if ended.cause is Cause.TIME_LIMIT:
        return f"it ran longer than {timeout:g} s, and was killed"
    if ended.cause is not Cause.ITSELF:
        return f"it did not end by itself: {ended.cause.value}"
    if ended.signal is not None:
        return f"signal {ended.signal} ended it"
    return f"it ended with code {ended.code}" if ended.code else ""
