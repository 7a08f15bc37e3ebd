"""The command that does it again, for a result to carry."""

import click
from click.core import ParameterSource

from surest.text import shell_line

LEFT_OUT = ("as_json", "quiet", "picture", "decision", "study", "storage", "follow")
"""Options that say how a result is shown, and where a search is kept."""


def command_again(context: click.Context, seed: int | None, **more: str) -> str:
    """What was given on the command line, with the seed that was used, and more options.

    >>> @click.command("identify")
    ... @click.argument("source")
    ... @click.option("--delta", default=0.05)
    ... @click.option("--arm", multiple=True)
    ... @click.option("-r", "--runs")
    ... @click.option("--minimise", is_flag=True)
    ... @click.option("--csv", "form", flag_value="csv")
    ... @click.option("--markdown", "form", flag_value="markdown")
    ... def identify(**given):
    ...     print(command_again(click.get_current_context(), 7))
    >>> identify.main(["my file.csv", "--arm", "a", "--arm", "b", "-r", "8", "--minimise", "--csv"], standalone_mode=False)
    surest identify 'my file.csv' --arm=a --arm=b --runs=8 --minimise --csv --seed=7
    """
    words = ["surest", str(context.command.name)]
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if name in LEFT_OUT or context.get_parameter_source(name) in (None, ParameterSource.DEFAULT):
            continue
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            words += map(str, values)
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            chosen = (
                bool(value) if parameter.is_bool_flag else value == parameter.flag_value
            )  # several may set one value
            words += [parameter.opts[0]] * chosen
        elif name != "seed":
            option = next(
                (o for o in parameter.opts if o.startswith("--")), parameter.opts[0]
            )  # not -r=8: that is the value '=8'
            words += [f"{option}={one}" for one in values]
    if seed is not None:
        words.append(f"--seed={seed}")
    words += [f"--{name}={value}" for name, value in more.items()]
    return shell_line(words)
