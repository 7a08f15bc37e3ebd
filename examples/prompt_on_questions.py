"""The best of several prompts on a list of questions, with a stub where a model and a judge would be.

    python examples/prompt_on_questions.py

Every answer that is judged costs money, so all prompts get the same questions, weak prompts drop out, and no answer is judged
twice. Scores are kept in prompts.db: killed and started again, the search continues where it left off.

To use it, replace `judged` and give your own PROMPTS and QUESTIONS.
"""

import random
import sys
import time

import surest

PROMPTS = {
    "plain": "Answer the question.",
    "steps": "Answer the question. Think step by step.",
    "expert": "You are an expert. Answer the question.",
    "brief": "Answer in one word.",
}
QUESTIONS = [f"What is {a} × {b}?" for a in range(11, 31) for b in range(11, 31)]
STUB_QUALITY = {"plain": 0.45, "steps": 0.8, "expert": 0.5, "brief": 0.2}
"""How often the stub's answer is right. Not known to the search."""


def judged(prompt: str, question: str, pause: float = 0.0) -> float:
    """A stub: ask a model with PROMPTS[prompt] here, and let a judge score its answer from 0 to 1."""
    time.sleep(pause)
    print(f"judged {prompt}: {question}", file=sys.stderr, flush=True)
    return float(random.Random(f"{prompt} {question}").random() < STUB_QUALITY[prompt])


def main(storage: str = "sqlite:///prompts.db", pause: float = 0.0) -> None:
    """Choose, and say so."""
    result = surest.evaluate(
        list(PROMPTS),
        QUESTIONS,
        score=lambda prompt, question: judged(prompt, question, pause),
        delta=0.01,
        seed=1,
        storage=storage,
        name="prompts",
    )
    print(f"{result.best} is the best prompt: certified {result.certified}")
    print(f"{result.evaluations} of {result.cells} answers were judged")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(float, sys.argv[2:3]))
