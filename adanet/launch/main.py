# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-launch: start all tasks of a search with one command.

A cluster on this machine: a chief, 3 workers beside it, 2 parameter servers,
and an evaluator. Each task runs train.py, with the TF_CONFIG of its own:

  adanet-launch --workers=3 --ps=2 --evaluator train.py --learning_rate=.1

Flags after the program are the program's. It may also be a module, or any file
that can be executed:

  adanet-launch --workers=3 --ps=2 -m my_project.train --learning_rate=.1
  adanet-launch --workers=3 --ps=2 ./train.sh

See what would run: the TF_CONFIG of each task, and the plan of 5 subnetworks:

  adanet-launch --workers=3 --ps=2 --subnetworks=5 --dry_run train.py

Keep all that the tasks print in files, and name the folder of the search (for
programs that leave `model_dir` of their RunConfig open):

  adanet-launch --workers=3 --ps=2 --log_dir=logs --model_dir=model train.py

One task of a cluster whose addresses are known, started on each machine:

  TF_CONFIG="$(cat task.json)" adanet-launch train.py

Slurm: each process of srun is a task. With 6 of them and these flags: a chief,
2 workers, 2 parameter servers, and an evaluator:

  srun --nodes=3 --ntasks=6 adanet-launch --ps=2 --evaluator train.py

Kubernetes: print what to create. IMAGE has adanet-launch and the program:

  adanet-launch --kubernetes --image=IMAGE --workers=3 --ps=2 \\
      --model_dir=/model --volume_claim=CLAIM train.py | kubectl create -f -

What happens when a task fails: If it has an error before it begins to work
(such as a typing error in train.py), the job ends at once. A task that was
killed, or that failed after it had begun to work, starts again after 1, 2, 4,
... seconds, at most --max_restarts times. Then the job ends, and the last lines
of the task that failed first are printed. When the chief is done, the other
tasks have 60 seconds to end by themselves, and the evaluator has an hour.

Ctrl-C, SIGTERM and SIGHUP ask all tasks to end, and kill them after 10 seconds;
a second Ctrl-C kills them at once. Nothing outlives adanet-launch. What a task
has started ends with it, so a shell script should `exec` its program.

The tasks have a network of their own, where the kernel allows it: a TensorFlow
server runs any graph for anyone who can reach it. Programs that load data from
the Internet need --noprivate_network.

Each task finds in its environment: TF_CONFIG; ADANET_JOB_ID, the same for all
tasks of a job; ADANET_EVALUATOR, 1 if the job has an evaluator;
ADANET_EVENTS_FD, where it reports its progress; its share of the GPUs in
CUDA_VISIBLE_DEVICES; COLUMNS; TF_CPP_MIN_LOG_LEVEL (default: 2).

Exit codes: 0 for success; 2 for bad flags, with one line on standard error; 128
+ n if signal n stopped the job; otherwise that of the task that failed first.
"""

import os
import sys
from typing import Callable, Dict, List, NoReturn, Optional, Sequence

from absl import flags
from adanet.console import cluster_flags
from adanet.console import command as command_lib
from adanet.launch import dry_run
from adanet.launch import gpus as gpus_lib
from adanet.launch import guard
from adanet.launch import job as job_lib
from adanet.launch import kubernetes
from adanet.launch import kubernetes_flags
from adanet.launch import network
from adanet.launch import output as output_lib
from adanet.launch import place as place_lib
from adanet.launch import ports as ports_lib
from adanet.launch import program as program_lib
from adanet.launch import slurm

_EXIT_FAILURE = 1
_MAX_TASKS = 1000

_COMMAND = command_lib.Command("adanet-launch", __doc__, takes_program=True)
_CLUSTER = cluster_flags.ClusterFlags(_COMMAND, _MAX_TASKS, _MAX_TASKS)
_MAX_RESTARTS = _COMMAND.define_integer(
    "max_restarts", 3, "How often each task is started again at most.", 0)
_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Folder of the search, for programs that name none. It "
    "is model_dir in TF_CONFIG, and ADANET_MODEL_DIR in the environment.",
    flag_values=_COMMAND.flags)
_LOG_DIR = flags.DEFINE_string(
    "log_dir", None, "Folder for all that the tasks print, such as "
    "worker-1.log. Files that are there already grow.",
    flag_values=_COMMAND.flags)
_MODULE = flags.DEFINE_boolean(
    "module", False, "Whether the program is the name of a Python module.",
    short_name="m", flag_values=_COMMAND.flags)
_PRIVATE_NETWORK = flags.DEFINE_boolean(
    "private_network", True, "Whether the tasks on this machine have a network "
    "of their own, without a way out or in, if the kernel allows it.",
    flag_values=_COMMAND.flags)
_DRY_RUN = flags.DEFINE_boolean(
    "dry_run", False, "Print the TF_CONFIG of each task, and with "
    "--subnetworks the plan. Start nothing.", flag_values=_COMMAND.flags)
_SUBNETWORKS = _COMMAND.define_integer(
    "subnetworks", None, "For --dry_run: number of subnetworks in the "
    "iteration.", 1)
_STRATEGY = flags.DEFINE_string(
    "strategy", None, "For --dry_run: the strategy, as for adanet-plan.",
    flag_values=_COMMAND.flags)
kubernetes_flags.define(_COMMAND.flags)


def _make_folder(flag: flags.FlagHolder) -> Optional[str]:
  """Returns the absolute path of the folder that a flag names; makes it."""
  if flag.value is None:
    return None
  path = os.path.abspath(os.path.expanduser(flag.value))
  try:
    os.makedirs(path, exist_ok=True)
  except OSError as e:
    raise command_lib.BadInput(
        f"--{flag.name}={flag.value}: {e.strerror}. Expected a writable folder."
    ) from e
  return path


def _is_remote(path: Optional[str]) -> bool:
  return path is not None and "://" in path and not path.startswith("file:")


def _model_dir() -> Optional[str]:
  """Returns --model_dir, absolute if it is on this machine."""
  if _MODEL_DIR.value is None or "://" in _MODEL_DIR.value:
    return _MODEL_DIR.value
  return os.path.abspath(os.path.expanduser(_MODEL_DIR.value))


def _common_environment() -> Dict[str, str]:
  """Returns what all tasks have in their environment."""
  environment = dict(os.environ, PYTHONUNBUFFERED="1")
  environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  if _MODEL_DIR.value is not None:
    environment["ADANET_MODEL_DIR"] = _model_dir() or ""
  return environment


def _environments(job: job_lib.Job) -> Dict[job_lib.Task, Dict[str, str]]:
  """Returns the environment of each task on this machine."""
  tasks = job.tasks()
  gpus = gpus_lib.visible(os.environ)
  shares = gpus_lib.shares(tasks, gpus)
  message = gpus_lib.sharing_message(tasks, gpus)
  if message:
    _COMMAND.warn(message)
  common, job_id = _common_environment(), os.urandom(8).hex()
  return {
      task: dict(common, COLUMNS=str(output_lib.columns(task)), **dict(
          place_lib.Place(job, task, job_id).environment(_model_dir()),
          **shares[task]))
      for task in tasks
  }


def _make_job(ports: Sequence[int]) -> job_lib.Job:
  return job_lib.make_job(
      _CLUSTER.workers.value, _CLUSTER.ps.value, _CLUSTER.evaluator.value,
      [f"127.0.0.1:{port}" for port in ports])


def _num_ports() -> int:
  return 1 + _CLUSTER.workers.value + _CLUSTER.ps.value


def _why_network_is_open() -> Optional[str]:
  """Returns why the tasks need the network of this machine, if they do."""
  if not _PRIVATE_NETWORK.value:
    return "--noprivate_network"
  if _is_remote(_MODEL_DIR.value):
    return f"--model_dir={_MODEL_DIR.value} is not on this machine"
  return None


def _run_local(command: Sequence[str]) -> int:
  """Runs the job on this machine; returns its exit status."""
  _CLUSTER.check_servers()
  log_dir = _make_folder(_LOG_DIR)
  return guard.run(lambda: _run_guarded(command, log_dir))


def _run_guarded(command, log_dir):
  """Runs the job in this process."""
  # Slow imports come after the flags are checked.
  from adanet.launch import display as display_lib  # pylint: disable=g-import-not-at-top
  from adanet.launch import failure_message  # pylint: disable=g-import-not-at-top
  from adanet.launch import local  # pylint: disable=g-import-not-at-top
  from adanet.launch import supervision as supervision_lib  # pylint: disable=g-import-not-at-top
  why_open = _why_network_is_open()
  if not why_open and not network.enter():
    why_open = "the kernel refuses it"
  with ports_lib.HeldPorts(_num_ports()) as held:
    job = _make_job(held.ports)
    tasks = job.tasks()
    if why_open:
      _COMMAND.warn(
          f"The network is not private: {why_open}. Until the job ends, anyone "
          "who can reach this machine can run any graph on its TensorFlow "
          f"servers, at the ports {', '.join(map(str, held.ports))}.")
    supervision = supervision_lib.Supervision(tasks, _MAX_RESTARTS.value)
    try:
      with output_lib.Output(tasks, log_dir, _COMMAND.warn) as output:
        with display_lib.Display(
            tasks, supervision.joined, supervision.works,
            _COMMAND.warn) as display:
          status = local.LocalJob(
              command, _environments(job), supervision, output, display.add,
              _COMMAND.warn).run()
        message = failure_message.message(supervision, output, not why_open)
        if message:
          _COMMAND.warn(message)
    except OSError as e:
      _COMMAND.warn(f"{e.filename or 'cannot start a task'}: {e.strerror or e}")
      return _EXIT_FAILURE
  return status


def _run_task(command: Sequence[str]) -> NoReturn:
  """Becomes the task of the TF_CONFIG in the environment."""
  environment = dict(
      _common_environment(),
      TF_CONFIG=program_lib.with_model_dir(
          os.environ["TF_CONFIG"], _model_dir()))
  os.execvpe(command[0], list(command), environment)


def _slurm_place() -> place_lib.Place:
  """Returns the place of this process among those that srun started."""
  try:
    return slurm.place(
        os.environ, _CLUSTER.ps.value, _CLUSTER.evaluator.value,
        _CLUSTER.workers.value if _COMMAND.is_given("workers") else None)
  except ValueError as e:
    if not isinstance(e, slurm.LayoutError) and not slurm.is_first(os.environ):
      sys.exit(command_lib.EXIT_BAD_INPUT)  # The first one says the same.
    raise command_lib.BadInput(str(e)) from e


def _run_slurm_task(command: Sequence[str]) -> NoReturn:
  """Becomes the task of this process of srun."""
  os.execvpe(command[0], list(command), dict(
      _common_environment(), **_slurm_place().environment(_model_dir())))


def _run_pod(command: Sequence[str]) -> int:
  """Runs the task of this Kubernetes pod; returns its exit status."""
  from adanet.launch import pod  # pylint: disable=g-import-not-at-top
  try:
    return pod.run(command, _common_environment(), _COMMAND.warn, _model_dir())
  except ValueError as e:
    raise command_lib.BadInput(str(e)) from e
  except (OSError, RuntimeError) as e:
    _COMMAND.warn(str(e))
    return _EXIT_FAILURE


def _print_manifests(program: Sequence[str]) -> int:
  """Prints the Kubernetes manifests of the job."""
  _CLUSTER.check_servers()
  try:
    print(kubernetes_flags.manifests(_COMMAND.flags, program), end="")
  except ValueError as e:
    raise command_lib.BadInput(str(e)) from e
  return 0


def _show_local(_: Sequence[str]) -> int:
  """Prints what would run on this machine."""
  _CLUSTER.check_servers()
  with ports_lib.HeldPorts(_num_ports()) as held:
    return _show_job(_make_job(held.ports), _CLUSTER.workers.value)


def _show_slurm(_: Sequence[str]) -> int:
  """Prints, from the first process of srun, what would run."""
  job = _slurm_place().job
  if not slurm.is_first(os.environ):
    return 0
  return _show_job(job, len(job.addresses.get(job_lib.WORKER, ())))


def _show_job(job: job_lib.Job, num_workers: int) -> int:
  """Prints the TF_CONFIG of each task."""
  dry_run.print_job(job, _model_dir())
  return _show_plan([f"--workers={1 + num_workers}",
                     f"--ps={_CLUSTER.ps.value}"])


def _show_task(_: Sequence[str]) -> int:
  """Prints what the task of the TF_CONFIG in the environment would get."""
  dry_run.print_tf_config(program_lib.with_model_dir(
      os.environ["TF_CONFIG"], _model_dir()))
  return _show_plan([])


def _show_plan(shape_flags: List[str]) -> int:
  """Prints the plan of a cluster, if --subnetworks is given."""
  return dry_run.print_plan(
      shape_flags, _SUBNETWORKS.value, _STRATEGY.value)


def _scenario() -> Callable[[Sequence[str]], int]:
  """Returns the function that does what flags and environment ask for.

  Each function takes the command that a task runs, and returns an exit code.
  """
  is_cluster = _CLUSTER.are_given
  if "TF_CONFIG" in os.environ and not is_cluster:
    return _show_task if _DRY_RUN.value else _run_task
  if kubernetes.in_pod(os.environ) and not is_cluster:
    return _run_pod
  # In a shell that srun started, --workers=3 asks for a cluster on this node.
  if slurm.in_step(os.environ) and not (
      _COMMAND.is_given("workers") and slurm.is_alone(os.environ)):
    return _show_slurm if _DRY_RUN.value else _run_slurm_task
  if slurm.lacks_srun(os.environ) and not _COMMAND.is_given("workers"):
    raise command_lib.BadInput(slurm.NEEDS_SRUN)
  return _show_local if _DRY_RUN.value else _run_local


def _run(program: Sequence[str]) -> int:
  """Returns the exit code of a run without an error of the user."""
  if not program:
    raise command_lib.BadInput(
        "no program: give the Python program of a task, such as train.py, "
        "after the flags (--help shows examples)")
  if _COMMAND.flags.kubernetes:
    return _print_manifests(program)  # The image has the program.
  # `bazel run` starts programs in another folder.
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd())
  try:
    command = program_lib.command(program, _MODULE.value)
    return _scenario()(command)
  except program_lib.ProgramError as e:
    raise command_lib.BadInput(str(e)) from e


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs the program with `argv`, or those of the process; see `Command.main`.
  """
  return _COMMAND.main(_run, argv)


if __name__ == "__main__":
  sys.exit(main())
