"""An attacker provokes errors in worker processes, where an error lost on its way hides a refusal."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blockwise import PEOPLE, people

import shoal
from benchmarks.enlarging import enlarge
from shoal import Freeform, InfeasibleError, InputError, InternalError, KAnonymity, PromiseError, ShoalError
from shoal.base.randomness import Randomness
from shoal.engines.on_disk import anonymize_file
from shoal.engines.runs import PlannedRun, compare_runs
from shoal.engines.workers import Crew, failure
from shoal.errors import Reason
from shoal.samples import hospital


class OwnError(InputError):
    """An error of an extension of Shoal."""

    def __init__(self, *, column: str) -> None:
        super().__init__(f"{column} is wrong", reason=Reason.BAD_VALUE)
        self.column = column


ERRORS: list[Callable[[], ShoalError]] = [
    lambda: ShoalError("plain", reason=Reason.SCHEMA),
    lambda: InputError("wrong", reason=Reason.PARAMETER),
    lambda: InfeasibleError("l is not achievable"),
    lambda: PromiseError("broken"),
    lambda: InternalError("odd"),
    lambda: OwnError(column="age"),
]


def raised(number: int) -> None:
    """Raise one of the errors: what a process of a pool does."""
    raise ERRORS[number]()


def same(one: BaseException, other: ShoalError) -> bool:
    return type(one) is type(other) and str(one) == str(other) and vars(one) == vars(other)


def test_every_error_of_shoal_is_among_these() -> None:
    def below(kind: type[ShoalError]) -> set[type[ShoalError]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    ours = {kind for kind in below(ShoalError) if kind.__module__.startswith("shoal.")}
    tried = {type(make()) for make in ERRORS}
    assert {kind for kind in ours if not kind.__name__.startswith("_")} <= tried


@pytest.mark.parametrize("make", ERRORS)
@pytest.mark.parametrize(
    "way",
    [
        *(
            lambda error, p=p: pickle.loads(pickle.dumps(error, p))
            for p in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
        copy.copy,
        copy.deepcopy,
    ],
)
def test_an_error_survives_a_copy(make: Callable[[], ShoalError], way: Callable[[Any], Any]) -> None:
    error = make()
    error.add_note("what stays")
    error.hints = ["take a smaller k"]  # type: ignore[attr-defined]
    copied = way(error)
    assert copied is not error
    assert same(copied, error)
    assert copied.hints == ["take a smaller k"]
    assert copied.__notes__ == ["what stays"]
    assert same(way(copied), error)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_error_survives_a_pool_of_processes(method: str) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
        for number, make in enumerate(ERRORS):
            found = pool.submit(raised, number).exception(timeout=60)
            assert found is not None
            assert same(found, make())


@pytest.mark.processes
@pytest.mark.parametrize("error", [make() for make in ERRORS[1:5]], ids=lambda error: type(error).__name__)
def test_an_error_survives_the_crew(error: ShoalError) -> None:
    code = (
        "import pickle\n"
        "from shoal.engines.workers import tell\n"
        "def work(task): raise pickle.loads(task)\n"
        "tell(work)"
    )
    told = Crew().ask(code, pickle.dumps(error))
    assert same(failure(told), error)


@pytest.mark.processes
def test_a_crew_process_that_lacks_memory_has_died() -> None:
    code = "from shoal.engines.workers import tell\ndef work(task): raise MemoryError\ntell(work)"
    assert Crew().ask(code, b"")["reason"] == "died"


@pytest.mark.processes
def test_a_lasting_process_does_one_task_after_the_other_until_it_dies() -> None:
    code = (
        "import os, sys\n"
        "from shoal.engines.workers import tell\n"
        "from shoal.errors import InfeasibleError\n"
        "def work(task):\n"
        "    if task == b'refuse': raise InfeasibleError('no')\n"
        "    if task == b'die': sys.exit('last words')\n"
        "    if task == b'kill': os.kill(os.getpid(), 9)\n"
        "    return {'process': os.getpid(), 'length': len(task)}\n"
        "tell(work)"
    )
    crew = Crew(lasting=True)
    try:
        first = crew.ask(code, b"x" * 1_000_000)
        assert first["length"] == 1_000_000
        assert crew.ask(code, b"refuse")["reason"] == "infeasible"
        assert crew.ask(code, b"") == {"process": first["process"], "length": 0}
        assert crew.ask(code, b"die") == {"reason": "died", "message": "the process died: last words"}
        second = crew.ask(code, b"")
        assert second["process"] != first["process"]
        assert crew.ask(code, b"kill") == {"reason": "died", "message": "the process died: signal 9"}
    finally:
        crew.stop()
    assert crew.ask(code, b"")["reason"] == "stopped"


@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize("model", [Freeform(k=5), KAnonymity(k=5)], ids=repr)
def test_blocks_with_fewer_records_than_k_refuse_as_memory_does(
    rows: int, model: Any, tmp_path: Path
) -> None:
    frame = people(rows)
    frame.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(InputError) as at_once:
        shoal.anonymize(frame, PEOPLE.completed(frame.columns), model)
    with pytest.raises(InputError) as in_blocks:
        anonymize_file(tmp_path / "in.parquet", PEOPLE, model, tmp_path / "out")
    assert same(in_blocks.value, at_once.value)
    assert [file.name for file in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (Freeform(k=2), {"effort": "huge"}),
        (Freeform(k=8), {"method": "exact"}),
        (Freeform(k=2), {"method": "exact", "seconds": -1.0}),
        (KAnonymity(k=2, l=2), {"method": "chain"}),
    ],
)
def test_what_a_method_refuses_is_no_bug_in_blocks_either(
    model: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    frame = people(200)
    frame.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(InputError) as at_once:
        shoal.anonymize(frame, PEOPLE.completed(frame.columns), model, **options)
    with pytest.raises(InputError) as in_blocks:
        anonymize_file(tmp_path / "in.parquet", PEOPLE, model, tmp_path / "out", **options)
    assert in_blocks.value.reason is at_once.value.reason
    assert [file.name for file in tmp_path.iterdir()] == ["in.parquet"]


IMPOSSIBLE: list[Any] = [
    -1, -(2**70), 2**128, 10**5000, -(10**5000), 1.0, 1.5, float("nan"), "7", "", b"7", True, [1], (1, 2),
    {}, object(), np.float64(3), np.bool_(True), np.array([1, 2]), np.array([3]), 1j,
    np.random.default_rng(1),
]  # fmt: skip


@pytest.mark.parametrize("seed", IMPOSSIBLE, ids=lambda seed: repr(type(seed)))
def test_an_impossible_seed_is_refused_everywhere(seed: Any, tmp_path: Path) -> None:
    frame = people(40)
    schema = PEOPLE.completed(frame.columns)
    frame.write_parquet(tmp_path / "in.parquet")
    calls: list[Callable[[], Any]] = [
        lambda: Randomness(seed),
        lambda: shoal.anonymize(frame, schema, Freeform(k=2), seed=seed),
        lambda: anonymize_file(tmp_path / "in.parquet", PEOPLE, Freeform(k=2), tmp_path / "out", seed=seed),
        lambda: compare_runs(frame, schema, [PlannedRun(Freeform(k=2), "matching")], seed=seed),
        lambda: hospital(5, seed=seed),
        lambda: enlarge(frame, 50, numeric={}, seed=seed),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"^seed = ") as caught:
            call()
        assert caught.value.reason is Reason.PARAMETER
        assert len(str(caught.value)) < 200
    assert [file.name for file in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("seed", [0, 7, 2**64, 2**128 - 1, np.int64(7), np.uint8(3), np.array(7)])
def test_whole_numbers_of_any_kind_are_seeds(seed: Any, tmp_path: Path) -> None:
    frame = people(40)
    frame.write_parquet(tmp_path / "in.parquet")
    schema = PEOPLE.completed(frame.columns)
    one, two = (shoal.anonymize(frame, schema, Freeform(k=2), seed=each) for each in (seed, int(seed)))
    assert one.table.equals(two.table)
    anonymize_file(tmp_path / "in.parquet", PEOPLE, Freeform(k=2), tmp_path / "out", seed=seed)
