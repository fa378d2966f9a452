"""Who is in the channels of an IRC server, and who is operator or has voice there. Pure."""

from collections.abc import Callable
from typing import ClassVar

from watchbell.archive.commands import Rank
from watchbell.archive.irc.lines import Line, folded

_RANKS = {"q": Rank.OP, "a": Rank.OP, "o": Rank.OP, "h": Rank.VOICE, "v": Rank.VOICE}
"""By mode: owner, protected, operator, half-operator, voice."""
_WITH_WORD = frozenset("bklIeqaohv")
"""Modes of a channel that take a word, if the server does not say which do."""


class Members:
    def __init__(self) -> None:
        self._channels: dict[str, dict[str, set[str]]] = {}
        """By channel and nick: the modes of a person."""
        self._listed: dict[str, dict[str, set[str]]] = {}
        """Names that a server is listing."""
        self._modes = {"@": "o", "+": "v"}
        self._always, self._when_set = _WITH_WORD - {"l"}, frozenset("l")

    def rank(self, channel: str, nick: str) -> Rank:
        modes = self._channels.get(folded(channel), {}).get(folded(nick), set())
        return max((_RANKS.get(mode, Rank.ALL) for mode in modes), default=Rank.ALL)

    def has(self, channel: str, nick: str) -> bool:
        return folded(nick) in self._channels.get(folded(channel), {})

    def leave(self, channel: str) -> None:
        self._channels.pop(folded(channel), None)

    def note(self, line: Line) -> str:
        """Changes what is known. Returns the channel whose names must be asked for again, or
        nothing: who is no operator any longer may still have voice."""
        if line.command == "MODE":
            return self._change(line.word(0), line.word(1), list(line.words[2:]))
        handler = self._HANDLERS.get(line.command)
        if handler:
            handler(self, line)
        return ""

    def _listed_all(self, line: Line) -> None:
        channel = folded(line.word(1))
        self._channels[channel] = self._listed.pop(channel, {})

    def _join(self, line: Line) -> None:
        for channel in line.word(0).split(","):
            self._channels.setdefault(folded(channel), {})[folded(line.nick)] = set()

    def _part(self, line: Line) -> None:
        for channel in line.word(0).split(","):
            self._remove(channel, line.nick)

    def _kick(self, line: Line) -> None:
        self._remove(line.word(0), line.word(1))

    def _quit(self, line: Line) -> None:
        for channel in self._channels:
            self._remove(channel, line.nick)

    def _rename(self, line: Line) -> None:
        old, new = folded(line.nick), folded(line.word(0))
        for members in self._channels.values():
            if old in members:
                members[new] = members.pop(old)

    def _supported(self, line: Line) -> None:
        for word in line.words:
            name, _, value = word.partition("=")
            if name == "PREFIX":
                modes, _, signs = value.removeprefix("(").partition(")")
                self._modes = dict(zip(signs, modes, strict=False)) or self._modes
            elif name == "CHANMODES":
                lists, always, when_set = [*value.split(","), "", "", ""][:3]
                self._always = frozenset(lists + always)
                self._when_set = frozenset(when_set)

    def _list(self, line: Line) -> None:
        listed = self._listed.setdefault(folded(line.word(2)), {})
        for name in line.word(3).split():
            nick = name.lstrip("".join(self._modes))
            signs = name[: len(name) - len(nick)]
            listed[folded(nick.partition("!")[0])] = {self._modes[sign] for sign in signs}

    def _remove(self, channel: str, nick: str) -> None:
        self._channels.get(folded(channel), {}).pop(folded(nick), None)

    def _change(self, channel: str, modes: str, words: list[str]) -> str:
        members = self._channels.get(folded(channel))
        if members is None:
            return ""
        is_set, is_doubtful = True, False
        personal = set(self._modes.values())
        for mode in modes:
            if mode in "+-":
                is_set = mode == "+"
            elif mode in personal:
                nick = folded(words.pop(0)) if words else ""
                if nick not in members:
                    continue
                if is_set:
                    members[nick].add(mode)
                else:
                    members[nick].discard(mode)
                    is_doubtful = True
            elif words and (mode in self._always or (is_set and mode in self._when_set)):
                words.pop(0)
        return channel if is_doubtful else ""

    _HANDLERS: ClassVar[dict[str, Callable[["Members", Line], None]]] = {
        "005": _supported,
        "353": _list,
        "366": _listed_all,
        "JOIN": _join,
        "PART": _part,
        "KICK": _kick,
        "QUIT": _quit,
        "NICK": _rename,
    }
