"""The recipes of docs/cluster.md: a Slurm array with a stub of sbatch, a Kubernetes job, a compose file."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

import surest
from surest.cli import cli

RECIPES = Path(__file__).parents[2] / "examples" / "cluster"
SBATCH = """#!/bin/bash
# As Slurm does: the script once for each number of the array, at the same time
count=${1#--array=1-}; shift
for task in $(seq "$count"); do SLURM_ARRAY_TASK_ID=$task bash "$@" > "$task.log" 2>&1 & done
wait
"""


def test_an_array_of_slurm_jobs_works_on_one_study(tmp_path: Path) -> None:
    """One of four workers is killed at once; the others finish the study."""
    storage = f"sqlite:///{tmp_path}/s.db"
    surest.open_study(storage, "prompts", ["terse", "kind"], seed=1, lease_seconds=1).close()
    for name, text in {
        "sbatch": SBATCH,
        "evaluate": '#!/bin/sh\n[ "$SLURM_ARRAY_TASK_ID" = 1 ] && kill -9 $PPID\n[ "$1" = kind ] && echo 1 || echo 0\n',
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    submit = ["sbatch", "--array=1-4", str(RECIPES / "slurm.sh"), "prompts", "./evaluate", "{arm}"]
    subprocess.run(
        submit, cwd=tmp_path, env={**os.environ, "PATH": path, "SUREST_STORAGE": storage}, check=True, timeout=300
    )
    study = surest.open_study(storage, "prompts")
    assert study.finished, [log.read_text() for log in tmp_path.glob("*.log")]
    assert study.result().best == "kind"


def test_the_kubernetes_job_has_the_shape_that_kubernetes_asks_for() -> None:
    validate = pytest.importorskip("kubernetes_validate")
    job = yaml.safe_load((RECIPES / "job.yaml").read_text())
    validate.validate(job, "1.29", strict=True)
    (worker,) = job["spec"]["template"]["spec"]["containers"]
    assert parsed(worker["args"]) == ["study", "work"]
    with pytest.raises(validate.ValidationError):
        validate.validate({**job, "spec": {}}, "1.29", strict=True)


def test_the_composed_service_is_a_command_that_exists() -> None:
    compose = yaml.safe_load((RECIPES / "compose.yaml").read_text())
    service, database = compose["services"]["service"], compose["services"]["database"]
    assert parsed(service["command"]) == ["serve"]
    assert f"postgresql://{database['environment']['POSTGRES_USER']}@database/" in service["command"][2]
    assert (RECIPES / service["build"] / "Dockerfile").exists()
    assert set(compose["volumes"]) == {"studies", "state"}


def parsed(arguments: list[str]) -> list[str]:
    """The commands that a command line names; its options are checked by their parser, and nothing runs."""
    command, context, rest, names = cli, click.Context(cli), list(arguments), []
    while isinstance(command, click.Group) and not rest[0].startswith("-"):
        names.append(rest.pop(0))
        command = command.get_command(context, names[-1])
    command.make_context(names[-1], rest)
    return names
