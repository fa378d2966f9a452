"""A program that forks processes which become commands of Watchbell.

It has imported what the commands import of others, which is most of what the start of one takes.
All of Watchbell is left for the command itself to import, in its own order.
"""

import gc
import importlib
import json
import os
import socket
import sys
import time


def main() -> None:
    link = socket.socket(fileno=int(sys.argv[1]))
    for name in modules_of_others():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while request := socket.recv_fds(link, 1, 4)[1]:
        child = os.fork()
        if child == 0:
            link.close()
            become_watchbell(*request)
            return
        for descriptor in request:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        link.send(str(os.waitstatus_to_exitcode(status)).encode())


def modules_of_others() -> list[str]:
    """Learned in a process of its own, so that nothing of ours has ever been in this one."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        from watchbell.cli.main import COMMANDS  # noqa: PLC0415

        for module, _ in COMMANDS.values():
            importlib.import_module(module)
        found = [name for name in sys.modules if name.partition(".")[0] != "watchbell"]
        with open(writer, "w", encoding="utf-8") as told:  # noqa: PTH123
            json.dump([name for name in found if is_found_by_name(name)], told)
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as said:  # noqa: PTH123
        names: list[str] = json.load(said)
    os.waitpid(child, 0)
    return names


def is_found_by_name(name: str) -> bool:
    """Not so what another module has put among the modules."""
    return getattr(getattr(sys.modules[name], "__spec__", None), "name", "") == name


def become_watchbell(words: int, *streams: int) -> None:
    """As `python -m watchbell`; whatever it raises ends this process as it would that one."""
    with open(words, encoding="utf-8") as file:
        arguments, environment = json.load(file)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv[1:] = arguments
    from watchbell.__main__ import main as watchbell  # noqa: PLC0415

    watchbell()


if __name__ == "__main__":
    main()
