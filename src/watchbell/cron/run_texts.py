"""How runs ended, in words."""

import signal
from collections.abc import Iterator

from watchbell.cron.model import Detail, Record, RunOptions
from watchbell.units import in_words

_SIGNALS = {
    signal.SIGHUP: "its terminal was closed",
    signal.SIGINT: "interrupted",
    signal.SIGQUIT: "asked to quit",
    signal.SIGILL: "illegal instruction",
    signal.SIGABRT: "it aborted",
    signal.SIGBUS: "it accessed memory that does not exist",
    signal.SIGFPE: "arithmetic error",
    signal.SIGKILL: "killed, perhaps because memory ran out",
    signal.SIGSEGV: "it accessed memory that is not its own",
    signal.SIGPIPE: "the reader of its output was gone",
    signal.SIGALRM: "its own alarm",
    signal.SIGTERM: "asked to end",
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
    """How a run ended, in one line; empty for a run in progress."""
    words = _ending(record, detail)
    if not detail.leftovers:
        return words
    return f"{words}; processes that it left behind were ended: {', '.join(detail.leftovers)}"


def _ending(record: Record, detail: Detail) -> str:
    if record.status == "running":
        return ""
    if record.status == "frozen":
        return detail.reason or "frozen: it stopped sending heartbeats"
    if record.status == "success":
        return "done"
    if not detail.reason:
        return exit_code(record.retcode)
    if record.retcode is None:
        return detail.reason
    # The reason is known, so what the signal usually means does not matter.
    return f"{detail.reason}; {exit_code(record.retcode, explained=True)}"


def options_in_words(options: RunOptions) -> Iterator[str]:
    """Retries and placement of a job, one line each."""
    policy = options.retrying
    if policy.retries:
        pauses = [in_words(round(policy.pause(n + 1))) for n in range(min(policy.retries, 5))]
        more = ", …" if policy.retries > len(pauses) else ""
        times = "once" if policy.retries == 1 else f"up to {policy.retries} times"
        yield f"a failed run is retried {times}, after {', '.join(pauses)}{more}"
    if options.hosts:
        yield f"runs only on {', '.join(options.hosts)}"
    if options.tags:
        yield f"runs only on instances with the tags {', '.join(options.tags)}"


def status_code(record: Record) -> int:
    """The exit code of a command that waited for a run: the run's own, 128 plus the signal that
    ended it, or 1 if the run was not started or froze."""
    if record.retcode is None:
        return 1
    return record.retcode if record.retcode >= 0 else 128 - record.retcode


def exit_code(retcode: int | None, *, explained: bool = False) -> str:
    """An exit code in words; with `explained`, without what a signal usually means."""
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
    """Such as `SIGTERM (asked to end)`; with `known`, empty for a number that is no signal."""
    try:
        one = signal.Signals(number)
    except ValueError:
        return "" if known else f"signal {number}"
    meaning = _SIGNALS.get(one)
    return f"{one.name} ({meaning})" if meaning else one.name
