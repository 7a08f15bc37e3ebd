"""A test that fails when a change makes a classifier worse, after as few evaluations as it takes to know.

    pytest examples/gate_in_a_test.py
    python examples/gate_in_a_test.py

The baseline's scores on 800 messages were kept when it was released. A change may lose three in a hundred. Scores are 0 or 1
here; anything in known bounds will do, such as the verdicts of a judge.
"""

import os
import random
from collections.abc import Callable

import surest

MARGIN = 0.03
COMMIT = os.environ.get("GITHUB_SHA", "a working copy")
"""Draws the order of the messages: each change gets its own, so that nobody tunes to the messages that come first."""


def messages() -> dict[str, str]:
    """What customers wrote, and what it was about. Made up here."""
    chance, topics = random.Random(5), {"refund": "money", "invoice": "money", "crash": "bug", "error": "bug"}
    found = {}
    for number in range(800):
        word = chance.choice(sorted(topics))
        shown = word.upper() if chance.random() < 0.1 else word
        found[f"{number}: my {shown} {'again ' * chance.randrange(3)}please"] = topics[word]
    return found


TOPICS = messages()


def released(message: str) -> str:
    """The classifier in use."""
    return "money" if "refund" in message or "invoice" in message else "bug"


def rewritten(message: str) -> str:
    """It knows capitals, too."""
    return "money" if {"refund", "invoice"} & set(message.lower().split()) else "bug"


def broken(message: str) -> str:
    """Somebody forgot the invoices."""
    return "money" if "refund" in message.lower() else "bug"


def score(classifier: Callable[[str], str]) -> Callable[[str], float]:
    """1 for a message that is understood, 0 for another."""
    return lambda message: float(classifier(message) == TOPICS[message])


BASELINE = {message: score(released)(message) for message in TOPICS}
"""In earnest, a file: `surest.gate("baseline.csv", …)`."""


def test_the_rewritten_classifier_is_not_worse() -> None:
    """It passes only if it is certified: wrong with probability at most 0.05."""
    result = surest.gate(BASELINE, score(rewritten), MARGIN, seed=COMMIT)
    assert result.passed, result


def test_a_broken_one_would_be_caught() -> None:
    """Where evaluations may run out before it is decided, `not result.failed` is the milder test."""
    result = surest.gate(BASELINE, score(broken), MARGIN, seed=COMMIT)
    assert result.failed, result


def main() -> None:
    """Show what the tests see."""
    for name, classifier in {"rewritten": rewritten, "broken": broken}.items():
        result = surest.gate(BASELINE, score(classifier), MARGIN, seed=1)
        print(f"{name}: {result}")


if __name__ == "__main__":
    main()
