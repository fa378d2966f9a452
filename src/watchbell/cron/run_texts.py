"""How runs ended, in words that people understand."""

import signal
from collections.abc import Iterator

from watchbell.cron.model import Detail, Record, RunOptions
from watchbell.schedule.lengths import in_words

_SIGNALS = {
    signal.SIGHUP: "hung up on",
    signal.SIGINT: "interrupted",
    signal.SIGQUIT: "told to quit",
    signal.SIGILL: "it ran an instruction that does not exist",
    signal.SIGABRT: "it gave up by itself",
    signal.SIGBUS: "it used memory that is not there",
    signal.SIGFPE: "it calculated what can't be",
    signal.SIGKILL: "killed, perhaps because memory ran out",
    signal.SIGSEGV: "it used memory that is not its own",
    signal.SIGPIPE: "nobody read what it wrote",
    signal.SIGALRM: "its own alarm",
    signal.SIGTERM: "told to end",
    signal.SIGXCPU: "it used more CPU time than its limit",
    signal.SIGXFSZ: "it wrote more than its limit",
}
_CODES = {
    126: "the command can't be executed",
    127: "the command was not found",
}
_SHELL = 128
"""What a shell adds to the number of the signal that ended its command."""


def ending(record: Record, detail: Detail) -> str:
    """In one line; empty for a run that goes on."""
    said = _ending(record, detail)
    if not detail.leftovers:
        return said
    return f"{said}; processes that it left behind were ended: {', '.join(detail.leftovers)}"


def _ending(record: Record, detail: Detail) -> str:
    if record.status == "running":
        return ""
    if record.status == "frozen":
        return detail.reason or "frozen: it gave no sign of life any more"
    if record.status == "success":
        return "done"
    if not detail.reason:
        return exit_code(record.retcode)
    if record.retcode is None:
        return detail.reason
    # Who ended it, and why, is known: what the signal may mean otherwise is not the cause.
    return f"{detail.reason}; {exit_code(record.retcode, explained=True)}"


def conduct_in_words(options: RunOptions) -> Iterator[str]:
    """What a definition says of retries and of where the job may run, a line each."""
    policy = options.retrying
    if policy.retries:
        pauses = [in_words(round(policy.pause(n + 1))) for n in range(min(policy.retries, 5))]
        more = ", …" if policy.retries > len(pauses) else ""
        times = "once" if policy.retries == 1 else f"up to {policy.retries} times"
        yield f"a failed run is tried again {times}, after {', '.join(pauses)}{more}"
    if options.hosts:
        yield f"runs only on {', '.join(options.hosts)}"
    if options.tags:
        yield f"runs only on instances with the tags {', '.join(options.tags)}"


def status_code(record: Record) -> int:
    """What a program that waited for the run exits with: the run's exit code, 128 and the number of
    the signal that ended it, or 1 for a run that was not started or froze."""
    if record.retcode is None:
        return 1
    return record.retcode if record.retcode >= 0 else 128 - record.retcode


def exit_code(retcode: int | None, *, explained: bool = False) -> str:
    """In words; with `explained`, a signal is named without what it mostly means."""
    if retcode is None:
        return "it was not started"
    if retcode < 0:
        name = signal_name(-retcode)
        return f"ended by {name.partition(' (')[0] if explained else name}"
    meaning = _CODES.get(retcode, "")
    if not meaning and retcode > _SHELL and signal_name(retcode - _SHELL, known=True):
        meaning = f"its command was ended by {signal_name(retcode - _SHELL)}"
    return f"exit code {retcode}" + (f": {meaning}" if meaning else "")


def signal_name(number: int, *, known: bool = False) -> str:
    """Such as `SIGTERM (told to end)`; with `known`, empty for a number that is no signal."""
    try:
        found = signal.Signals(number)
    except ValueError:
        return "" if known else f"signal {number}"
    meaning = _SIGNALS.get(found)
    return f"{found.name} ({meaning})" if meaning else found.name
