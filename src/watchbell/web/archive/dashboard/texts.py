"""What the dashboard answers as plain text, in ArchiveBot's form. Pure."""

from collections.abc import Iterable, Mapping, Sequence


def pending(queues: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """`queues` has the idents and URLs of each queue, the next one first."""
    paragraphs = []
    for name in sorted(queues, key=str.lower):
        lines = [f"  {n}. {url} ({ident})" for n, (ident, url) in enumerate(queues[name], 1)]
        paragraphs.append("\n".join([name, *lines]))
    return "\n\n".join(paragraphs)


def ignores(patterns: Mapping[str, Iterable[str]]) -> str:
    """Of several crawls, by ident, sorted by pattern."""
    pairs = sorted((pattern, ident) for ident, found in patterns.items() for pattern in found)
    return "\n".join(f"{ident}\t{pattern}" for pattern, ident in pairs)


def compact_ignores(ident: str, patterns: frozenset[str], sets: Mapping[str, Sequence[str]]) -> str:
    """Names ignore sets in place of their patterns, with the patterns that a set has and the crawl
    has not. A pattern that is also in `global` does not make a set count as used."""
    common = frozenset(sets.get("global", ()))
    lines, left = [f"Ignore sets for job {ident}:"], set(patterns)
    for name in sorted(sets, key=lambda name: (name != "global", name)):
        own = frozenset(sets[name]) - (frozenset() if name == "global" else common)
        if own & patterns:
            missing = sorted(own - patterns)
            lines.append(f"  {name}, excluding:" if missing else f"  {name}")
            lines += [f"    {pattern}" for pattern in missing]
            left -= own
    if left:
        lines += ["", f"Manual ignores for job {ident}:"]
        lines += [f"  {pattern}" for pattern in sorted(left)]
    return "\n".join(lines)
