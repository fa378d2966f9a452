import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.logs import NOW, begun, job
from watchbell.jobs import job_packing, job_records
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.model import Action, Activity, Job, JobFile, Limit, Parent, Usage
from watchbell.store.client import Store

KEYS = Jobs()
FULL = job(
    tags=("nightly", "_success"),
    actions=(Action(trigger="error", type="email", email="alice@example.com"),),
    limits=(Limit(type="retry", amount=2, duration=30),),
    parent=Parent(id="j0", data={"rows": [1, 2.5, None]}),
    data={"ü": "✓", "n": 1 << 60},
    files=(
        JobFile(id="f1", filename="a.txt", path="jobs/j1/f1/a.txt", size=3, job="j1", server="s1"),
    ),
    activity=(Activity(epoch=NOW, msg="started"),),
    cpu=Usage(min=0.5, max=99, total=100.25, count=3, current=1),
    code="critical",
)


def test_the_fields_of_a_hash_give_the_same_job() -> None:
    fields = job_packing.fields(FULL)
    assert fields["tags"] == b'["nightly","_success"]'
    assert "notes" not in fields
    assert job_packing.from_fields({k.encode(): v for k, v in fields.items()}) == FULL


def test_a_packed_record_gives_the_same_job_and_log() -> None:
    log = (Chunk(NOW, 0, 0, b"\xff\x00binary\n"),)
    assert job_packing.unpack(job_packing.pack(FULL, log)) == job_packing.Packed(FULL, log)


def test_a_record_of_the_first_version_is_still_read() -> None:
    stored = (
        "019b748f810d98e516651942f2e7a254438cf80107632334f03620022f2d31a738950b9c1c2642231e5c5e30"
        "4f0000"
    )
    found = job_packing.unpack(bytes.fromhex(stored))
    assert found is not None
    assert (found.job.code, found.job.params) == (3, {"script": "#!/bin/sh\nfalse\n"})


def test_the_record_of_a_simple_job_is_short() -> None:
    """Records in the store are read with the dictionary that they were packed with."""
    simple = job(state="complete", params={"script": "true"}, tags=("_success", "_last"))
    assert len(job_packing.pack(simple)) < 150


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values, st.text(), st.lists(st.binary()))
def test_any_data_and_output_survive_packing(
    data: object, description: str, texts: list[bytes]
) -> None:
    one = job(data=data, description=description)
    log = tuple(Chunk(NOW, i, i, text) for i, text in enumerate(texts))
    packed = job_packing.unpack(job_packing.pack(one, log))
    assert packed == job_packing.Packed(one, log)


@pytest.mark.parametrize("spoiled", [b"", b"\x01", b"\x01nonsense", b"{}", b"\x02abc"])
def test_what_is_no_packed_record_is_no_job(spoiled: bytes) -> None:
    assert job_packing.unpack(spoiled) is None


def test_half_a_packed_record_is_no_job() -> None:
    packed = job_packing.pack(FULL)
    assert job_packing.unpack(packed[: len(packed) // 2]) is None


@pytest.mark.parametrize("value", [b"nonsense", b'{"a":', b"[[", b"\xff", b'"text"', b""])
def test_a_spoiled_field_is_left_out(value: bytes) -> None:
    fields = {k.encode(): v for k, v in job_packing.fields(FULL).items()}
    found = job_packing.from_fields({**fields, b"limits": value})
    assert found == msgspec.structs.replace(FULL, limits=())


@pytest.mark.parametrize("name", [b"id", b"event", b"state"])
def test_a_hash_without_what_every_job_has_is_no_job(name: bytes) -> None:
    fields = {k.encode(): v for k, v in job_packing.fields(FULL).items()}
    assert job_packing.from_fields({**fields, name: b"7"}) is None
    del fields[name]
    assert job_packing.from_fields(fields) is None


async def test_jobs_are_read_in_progress_and_finished(store: Store) -> None:
    await begun(store, FULL, result=b"{}")
    over = job("j2", state="complete")
    await store.call("HSET", KEYS.finished(), "j2", job_packing.pack(over))
    first, second, third = await job_records.find(store, ["j1", "j2", "j3"])
    assert first == job_records.JobRecord(FULL, own={"_result": b"{}"}, is_live=True)
    assert second == job_records.JobRecord(over)
    assert third is None
    assert await job_records.read(store, "j2") == over


async def test_jobs_in_progress_are_listed_oldest_first(store: Store) -> None:
    jobs = [job(f"j{n}", launched=NOW + n) for n in range(1_100)]
    for one in reversed(jobs):
        await begun(store, one)
    await store.call("ZADD", KEYS.live(), NOW, "jgone")
    assert await job_records.live(store) == jobs


async def test_a_key_of_a_wrong_type_hides_one_job_only(store: Store) -> None:
    await begun(store, job("j1"))
    await begun(store, job("j2"))
    await store.call("DEL", KEYS.job("j1"))
    await store.call("SADD", KEYS.job("j1"), "nonsense")
    assert [one.id for one in await job_records.live(store)] == ["j2"]
    await store.call("DEL", KEYS.job("j1"))
    assert isinstance(await job_records.read(store, "j2"), Job)
