"""Commands that a page shows: how to join a study as a worker, in surest, in Python and with curl."""

from surest.server.names import quoted
from surest.study.study import Study
from surest.text import shell_line

TOKEN = '-H "Authorization: Bearer $SUREST_TOKEN" '


def joining(study: Study, service: str, has_tokens: bool) -> list[tuple[str, str]]:
    """What to run in order to evaluate tickets, by what it is good for."""
    words = ["./evaluate", "{arm}", *(["{item}"] if study.items else [])]
    named = ["--", study.name] if study.name.startswith("-") else [study.name, "--"]
    work = shell_line(["surest", "study", "work", "--storage", service, *named, *words])
    first = "A command of yours whose last line is the reward" + (
        "; its token is in the variable SUREST_TOKEN" if has_tokens else ""
    )
    return [
        (first, work),
        ("In Python", _python(study, service)),
        ("Over HTTP, from any language", _curl(study, service, has_tokens)),
    ]


def _python(study: Study, service: str) -> str:
    item = ", study.item_of(ticket).key" if study.items else ""
    return (
        f"study = surest.open_study({service!r}, {study.name!r})\n"
        "while not study.finished:\n"
        "    for ticket in study.ask():\n"
        f"        study.tell(ticket.id, evaluate(ticket.label{item}))"
    )


def _curl(study: Study, service: str, has_tokens: bool) -> str:
    address = f"{service}/api/studies/{quoted(study.name)}"
    head = f"curl -s {TOKEN if has_tokens else ''}-H 'Content-Type: application/json' "
    ask = '{"worker": "ann", "wait": 30, "held": []}'
    tell = '{"worker": "ann", "ticket": 0, "reward": 0.71}'
    return f"{head}{address}/ask -d '{ask}'\n{head}{address}/tell -d '{tell}'"
