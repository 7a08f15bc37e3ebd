"""The best of several prompts: a skeleton, with a stub where a model and a judge would be.

    python examples/best_prompt.py

A pull draws a random question, lets the model answer it with a prompt, and lets a judge score the answer. Both are web requests:
async functions, a few of them in flight. Requests fail now and then; they are retried. An answer that keeps failing counts as
the worst score, since a prompt that makes the model time out is a bad prompt: to leave such answers out would favour it.

To use it, replace `answer` and `judge` and give your own PROMPTS and QUESTIONS.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

import surest

PROMPTS = {
    "plain": "Answer the question.",
    "steps": "Answer the question. Think step by step.",
    "expert": "You are an expert. Answer the question, then check your answer.",
}
QUESTIONS = [f"What is {a} × {b}?" for a in range(11, 20) for b in range(11, 20)]
STUB_QUALITY = {"plain": 0.35, "steps": 0.7, "expert": 0.5}
"""How often the stub's answer is right. Not known to the search."""


async def answer(prompt: str, question: str, rng: random.Random) -> str:
    """A stub: ask a model here."""
    await asyncio.sleep(0.001 * rng.random())
    if rng.random() < 0.05:
        raise ConnectionError("the model is busy")
    quality = next(STUB_QUALITY[name] for name, text in PROMPTS.items() if text == prompt)
    return "right" if rng.random() < quality else "wrong"


async def judge(question: str, text: str) -> float:
    """A stub: let a judge score the answer from 0 to 1 here."""
    await asyncio.sleep(0)
    return 1.0 if text == "right" else 0.0


def scored(prompt: str) -> Callable[[int], Awaitable[float]]:
    """An arm: the score of a prompt on a random question."""
    attempts = (
        random.Random()
    )  # whether a request fails must not depend on the question alone, or retrying would be in vain

    async def pull(seed: int) -> float:
        question = random.Random(seed).choice(QUESTIONS)
        return await judge(question, await answer(prompt, question, attempts))

    return pull


async def main() -> None:
    """Choose, and say so."""
    result = await surest.aidentify(
        {name: scored(prompt) for name, prompt in PROMPTS.items()},
        delta=0.01,
        seeded=True,
        in_flight=8,
        retries=5,
        on_failure=0.0,
    )
    print(f"{result.best} is the best prompt: certified {result.certified}, after {result.pulls} judged answers")


if __name__ == "__main__":
    asyncio.run(main())
