"""Prints a digest of all that each kernel was asked and answered in some searches. `test_kernels` compares ways to run it."""

import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from surest import kernels

np.empty, np.empty_like = np.zeros, np.zeros_like  # room that nobody has written to has the same bits every time
DIGESTS: dict[str, Any] = {}
"""Of each kernel that other code called."""
INNER: set[str] = set()
"""Kernels that kernels called: seen in plain Python only."""
RUNNING: list[str] = []


def bits(value: Any) -> Any:
    """A value without what may differ: the kinds of numbers, and of NaNs."""
    if isinstance(value, np.ndarray):
        return value.shape, np.where(value != value, np.nan, value).tobytes()
    if isinstance(value, tuple):
        return tuple(bits(part) for part in value)
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if not isinstance(value, int | float | np.number):
        return "…"
    return "nan" if value != value else float(value).hex()


def watched(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that leaves a digest of its answers and of all arrays that it may have changed, wherever other code calls it."""

    @wraps(kernel)
    def called(*args: Any) -> Any:
        if RUNNING:
            INNER.add(name)
            return kernel(*args)
        RUNNING.append(name)
        try:
            answer = kernel(*args)
        finally:
            RUNNING.pop()
        said = repr((bits(answer), [bits(arg) for arg in args]))
        DIGESTS.setdefault(name, hashlib.sha256()).update(said.encode())
        return answer

    return called


def watch(module: ModuleType) -> list[str]:
    """Watch all kernels of a module; their names."""
    own = [name for name, value in vars(module).items() if callable(value) and not isinstance(value, type)]
    own = [name for name in own if getattr(module, name).__module__ == module.__name__ and not name.startswith("_")]
    for name in own:
        setattr(module, name, watched(f"{module.__name__}.{name}", getattr(module, name)))
    return [f"{module.__name__}.{name}" for name in own]


EVERY = [
    name
    for found in pkgutil.walk_packages(kernels.__path__, "surest.kernels.")
    if not found.ispkg and not found.name.endswith("._shared")
    for name in watch(importlib.import_module(found.name))
]


def said(name: str, found: Any) -> None:
    print(name, json.dumps({**found.to_dict(), "seconds": None}))


def searches() -> None:
    """Searches of all kinds, which call every kernel; the library is imported after kernels are watched."""
    import surest
    from asking import driven
    from surest.algorithms import REGISTRY, Task, start
    from surest.arms import finite
    from surest.arms.instances import example1
    from surest.core.question import BEST, Question
    from surest.evidence.pulls.digest import Digests
    from surest.kernels import sampling
    from surest.kernels.lab import divergence
    from surest.lab.stepwise import run, simulate_blocks
    from surest.search.simulate import simulate

    finite.COMPILED = True  # plain Python draws atoms in another way, else
    rng = np.random.default_rng(1)
    top, above_half = Question("top", top=2), Question("above", bar=0.5)
    graded = finite.finite_arms([([0.1, 0.35, 0.8], [1, 2, 1]), ([0.2, 0.6, 0.97], [1, 1, 2]), ([0.3, 0.5], [2, 1])])

    def by_request(stepwise: Any, arms: Any, budget: int) -> None:
        simulate(run(stepwise), arms, budget=budget)

    coins = finite.bernoulli([0.3, 0.7, 0.45])
    for arms, drive, epsilon in ((coins, by_request, 0.0), (graded, simulate_blocks, 0.1)):
        for asked in ({"epsilon": epsilon}, {"top": 2, "epsilon": epsilon}, {"above": 0.5}, {"control": 0}):
            said(f"pulls, {asked}", surest.identify(arms, 0.01, seed=1, budget=120, **asked))
        for name, entry in REGISTRY.items():
            options = {"h1": 100.0} if name in {"ucb-e", "ugape-b"} else {}
            for question in (BEST, top)[: 1 + ("top" in entry.answers)] if entry.stepwise else ():
                stepwise = entry.stepwise(Task(np.arange(3), 0.1, 0.0, 40, rng, question=question), **options)
                drive(stepwise, arms.simulate(3), budget=40)
                print(name, hashlib.sha256(repr([bits(part) for part in stepwise.state]).encode()).hexdigest()[:16])
    crowd = finite.bernoulli([0.95, *np.linspace(0.1, 0.3, 1100)])
    surest.identify(crowd, 0.1, seed=1, budget=20_000)  # which of equal arms comes first is up to the processor
    for p, q, spread in rng.random((40, 3)):  # on such numbers rules of rivals and plans decide, and nobody is told
        divergence.kl(p, q)
        divergence.kl_upper(p, q)
        divergence.kl_lower(p, q)
        divergence.k_inf(np.sort(rng.random(5)), rng.random(5), 5, p)
        sampling.separation(40, p, 1 / spread, 30, q, 1.5, 0.02)
    digests = Digests(2, 8)
    digests.add(np.repeat([0, 1], 30), rng.random(60))
    table = (rng.random((4, 30)) < [[0.7], [0.6], [0.5], [0.2]]).astype(float)

    def scores(request: Any) -> np.ndarray:
        if len(request.ahead) % 5 == 0:
            request.status()
        return table[np.ix_(request.arms, request.items)]

    for question in (BEST, top, above_half, Question("control", control=0), Question("above", bar=0.4, error="fdr")):
        for more in ({}, {"target": "population"}, {"epsilon": 0.1} if question.ranks else {}):
            name = "race" if question is BEST else f"race-{question.kind}"
            procedure = start(name, 4, 0.2, items=30, seed=1, question=question, **more)
            driven(procedure, scores)
    for how in ({"margin": 0.05}, {"history": table[2:]}, {"target": "population"}, {"equivalent": 0.2}):
        said(f"gate, {[*how]}", surest.gate(table[1], table[0], **how))
    for seed in range(3):
        duels = surest.duel([*"abcd"], judge=lambda a, b: float(rng.random() < 0.5 + (a < b) / 5), seed=seed)
        said("duels", duels)
    said("example1", surest.identify(example1(12), seed=1))


def main() -> None:
    searches()
    for name, digest in sorted(DIGESTS.items()):
        print(name, digest.hexdigest()[:16])
    left = set(EVERY) - DIGESTS.keys() - INNER
    assert kernels.COMPILED or not left, f"no search above calls {sorted(left)}"


if __name__ == "__main__":
    main()
