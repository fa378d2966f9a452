"""Lines on their way to the store: all of them, in order, and the newest where there are many."""

from hypothesis import given
from hypothesis import strategies as st

from watchbell.process.output import Output, Volume
from watchbell.runs.output_lines import Lines, OutputLines


class Kept:
    """What a store would hold, as a sorted set or as a list."""

    def __init__(self, *, as_list: bool) -> None:
        self.as_list = as_list
        self.lines: list[tuple[int, bytes]] = []

    def write(self, lines: Lines) -> None:
        if self.as_list:
            assert lines.before == len(self.lines)
            assert lines.drop is None
        self.lines += lines.scored
        if lines.drop:
            after, before = lines.drop
            self.lines = [one for one in self.lines if not after < one[0] < before]

    def text(self) -> bytes:
        ordered = self.lines if self.as_list else sorted(self.lines)
        texts = [text if self.as_list else text.partition(b"\t")[2] for _, text in ordered]
        return b"".join(texts)

    def numbers(self) -> list[int]:
        return [int(text.partition(b"\t")[0]) for _, text in sorted(self.lines)]


def printed(chunks: list[bytes], volume: Volume, *, as_list: bool) -> tuple[Kept, OutputLines]:
    output, log, kept = Output(volume), OutputLines(3, as_list=as_list), Kept(as_list=as_list)
    for n, chunk in enumerate(chunks):
        output.feed(chunk, 1000.0 + n // 3)
        while batch := output.take(newest=output.is_over):
            kept.write(log.add(batch))
    output.close()
    while batch := output.take(newest=True):
        kept.write(log.add(batch))
    kept.write(log.rest())
    return kept, log


CHUNKS = st.lists(
    st.binary(min_size=1, max_size=40)
    | st.sampled_from([b"line\n", b"10%\r20%\r", b"\r\n", b"\n\n\n", b"half"]),
    max_size=60,
)


@given(CHUNKS, st.booleans())
def test_what_is_joined_is_what_was_written(chunks: list[bytes], as_list: bool) -> None:
    kept, log = printed(chunks, Volume(), as_list=as_list)
    whole = b"".join(chunks)
    assert kept.text() == whole
    assert log.tail() == b"".join(whole.splitlines(keepends=True)[-3:]).decode(errors="replace")
    if not as_list:
        assert kept.numbers() == list(range(1, len(kept.lines) + 1))
        scores = sorted(score for score, _ in kept.lines)
        assert len(set(scores)) == len(scores)


@given(st.integers(50, 400), st.booleans(), st.integers(1, 20))
def test_beyond_the_limit_there_is_a_marker_and_then_the_newest(
    number: int, as_list: bool, together: int
) -> None:
    lines = [b"line %d\n" % n for n in range(number)]
    chunks = [b"".join(lines[n : n + together]) for n in range(0, number, together)]
    volume = Volume(complete=200, newest=150)
    kept, log = printed(chunks, volume, as_list=as_list)
    whole = b"".join(chunks)
    text = kept.text()
    head, marker, tail = text.partition(b"[the output is complete up to here")
    assert whole.startswith((head, head.removesuffix(b"\n")))
    assert head.endswith(b"\n")
    assert marker
    assert whole.endswith(tail.partition(b"]\n")[2])
    assert text.endswith(lines[-1])
    assert len(text) < 200 + 150 + 150 + 20 * together
    assert log.tail() == b"".join(lines[-3:]).decode()


def halfway(chunks: list[bytes], volume: Volume) -> Kept:
    """What is in the store when whoever writes it is killed."""
    output, log, kept = Output(volume), OutputLines(3, as_list=False), Kept(as_list=False)
    for n, chunk in enumerate(chunks):
        output.feed(chunk, 1000.0 + n)
        while batch := output.take(newest=output.is_over):
            kept.write(log.add(batch))
    return kept


def gone_on(kept: Kept, before: bytes, after: list[bytes], volume: Volume) -> OutputLines:
    stored = kept.numbers()[-1] if kept.lines else 0
    output, log = Output(volume), OutputLines(3, as_list=False, stored=stored)
    for n, chunk in enumerate([before, *after]):
        output.feed(chunk, 2000.0 + n)
        while batch := output.take(newest=output.is_over):
            kept.write(log.add(batch))
    output.close()
    while batch := output.take(newest=True):
        kept.write(log.add(batch))
    return log


@given(CHUNKS, CHUNKS)
def test_a_successor_adds_what_is_not_stored_yet(before: list[bytes], after: list[bytes]) -> None:
    kept = halfway(before, Volume())
    log = gone_on(kept, b"".join(before), after, Volume())
    whole = b"".join([*before, *after])
    assert kept.text() == whole
    assert kept.numbers() == list(range(1, len(kept.lines) + 1))
    assert log.tail() == b"".join(whole.splitlines(keepends=True)[-3:]).decode(errors="replace")


@given(CHUNKS, CHUNKS)
def test_beyond_the_limit_a_successor_goes_on_with_new_numbers(
    before: list[bytes], after: list[bytes]
) -> None:
    volume = Volume(complete=100, newest=50)
    kept = halfway(before, volume)
    complete = b"".join(before)[:100]
    gone_on(kept, complete, after, volume)
    numbers = kept.numbers()
    assert numbers == sorted(set(numbers))
    assert kept.text().startswith(b"".join([complete, *after])[:100])
    assert kept.text().count(b"[the output is complete up to here") <= 1
