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

import inspect
import os
import re
import signal
import sys
from typing import Callable, Dict, List, NoReturn, Optional, Sequence

from absl import flags
from adanet import version
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
_EXIT_BAD_INPUT = 2
_MAX_TASKS = 1000

# Not flags.FLAGS, because that has the flags of other modules too.
_FLAGS = flags.FlagValues()
_FLAGS.set_gnu_getopt(False)  # What follows the program belongs to it.


class BadInput(Exception):
  """An error of the user, with a message of one line."""


_WORKERS = flags.DEFINE_integer(
    "workers", 0, "Number of workers beside the chief.", 0, _MAX_TASKS,
    flag_values=_FLAGS)
_PS = flags.DEFINE_integer(
    "ps", 0, "Number of parameter servers. Workers need at least one.", 0,
    _MAX_TASKS, flag_values=_FLAGS)
_EVALUATOR = flags.DEFINE_boolean(
    "evaluator", False, "Whether there is an evaluator.", flag_values=_FLAGS)
_MAX_RESTARTS = flags.DEFINE_integer(
    "max_restarts", 3, "How often each task is started again at most.", 0,
    flag_values=_FLAGS)
_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Folder of the search, for programs that name none. It "
    "is model_dir in TF_CONFIG, and ADANET_MODEL_DIR in the environment.",
    flag_values=_FLAGS)
_LOG_DIR = flags.DEFINE_string(
    "log_dir", None, "Folder for all that the tasks print, such as "
    "worker-1.log. Files that are there already grow.", flag_values=_FLAGS)
_MODULE = flags.DEFINE_boolean(
    "module", False, "Whether the program is the name of a Python module.",
    short_name="m", flag_values=_FLAGS)
_PRIVATE_NETWORK = flags.DEFINE_boolean(
    "private_network", True, "Whether the tasks on this machine have a network "
    "of their own, without a way out or in, if the kernel allows it.",
    flag_values=_FLAGS)
_DRY_RUN = flags.DEFINE_boolean(
    "dry_run", False, "Print the TF_CONFIG of each task, and with "
    "--subnetworks the plan. Start nothing.", flag_values=_FLAGS)
_SUBNETWORKS = flags.DEFINE_integer(
    "subnetworks", None, "For --dry_run: number of subnetworks in the "
    "iteration.", 1, flag_values=_FLAGS)
_STRATEGY = flags.DEFINE_string(
    "strategy", None, "For --dry_run: the strategy, as for adanet-plan.",
    flag_values=_FLAGS)
kubernetes_flags.define(_FLAGS)
flags.DEFINE_boolean(
    "help", False, "Print this help.", short_name="h", flag_values=_FLAGS)
flags.DEFINE_boolean(
    "version", False, "Print the version.", flag_values=_FLAGS)


def _warn(message: str) -> None:
  """Prints a line."""
  # Whatever sys.stderr is now: a live display shows lines above itself.
  if sys.stderr is not None:
    try:
      print("adanet-launch: " + message, file=sys.stderr, flush=True)
    except OSError:
      pass  # The exit code still reports an error.


def _parse_flags(argv: Sequence[str]) -> List[str]:
  """Sets the flags; returns the program and its arguments."""
  for name in _FLAGS:  # main() may have run before.
    _FLAGS[name].unparse()
  try:
    return _FLAGS(argv)[1:]
  except flags.IllegalFlagValueError as e:
    message = re.sub(r"^flag ", "", str(e))
    # absl formats this message as a tuple.
    message = re.sub(r"\('Non-boolean.*", "expected true or false.", message)
    message = re.sub("invalid literal for int.*", "expected an integer.",
                     message)
    raise BadInput(message) from e
  except flags.Error as e:
    raise BadInput(f"{e} (--help lists the flags)") from e


def _info() -> Optional[str]:
  """Returns the text for --help or --version, if one of them is given."""
  if _FLAGS.help:
    # Only the flags; the lines before them name the Python module.
    flags_help = _FLAGS.get_help(include_special_flags=False)
    return "{}\n\nFlags:\n{}\n".format(
        inspect.cleandoc(__doc__), flags_help[flags_help.index("\n  -"):])
  if _FLAGS.version:
    return f"adanet-launch {version.VERSION}\n"
  return None


def _is_given(*names: str) -> bool:
  return any(_FLAGS[name].present for name in names)


def _check_shape() -> None:
  if _WORKERS.value and not _PS.value:
    raise BadInput("--ps=0: expected at least 1 with "
                   f"--workers={_WORKERS.value}, to hold the variables that "
                   "the tasks share.")


def _make_folder(flag: flags.FlagHolder) -> Optional[str]:
  """Returns the absolute path of the folder that a flag names; makes it."""
  if flag.value is None:
    return None
  path = os.path.abspath(os.path.expanduser(flag.value))
  try:
    os.makedirs(path, exist_ok=True)
  except OSError as e:
    raise BadInput(f"--{flag.name}={flag.value}: {e.strerror}. Expected a "
                   "writable folder.") from e
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
    _warn(message)
  common, job_id = _common_environment(), os.urandom(8).hex()
  return {
      task: dict(common, COLUMNS=str(output_lib.columns(task)), **dict(
          place_lib.Place(job, task, job_id).environment(_model_dir()),
          **shares[task]))
      for task in tasks
  }


def _make_job(ports: Sequence[int]) -> job_lib.Job:
  return job_lib.make_job(
      _WORKERS.value, _PS.value, _EVALUATOR.value,
      [f"127.0.0.1:{port}" for port in ports])


def _num_ports() -> int:
  return 1 + _WORKERS.value + _PS.value


def _why_network_is_open() -> Optional[str]:
  """Returns why the tasks need the network of this machine, if they do."""
  if not _PRIVATE_NETWORK.value:
    return "--noprivate_network"
  if _is_remote(_MODEL_DIR.value):
    return f"--model_dir={_MODEL_DIR.value} is not on this machine"
  return None


def _run_local(command: Sequence[str]) -> int:
  """Runs the job on this machine; returns its exit status."""
  _check_shape()
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
      _warn(f"The network is not private: {why_open}. Until the job ends, "
            "anyone who can reach this machine can run any graph on its "
            "TensorFlow servers, at the ports "
            f"{', '.join(map(str, held.ports))}.")
    supervision = supervision_lib.Supervision(tasks, _MAX_RESTARTS.value)
    try:
      with output_lib.Output(tasks, log_dir, _warn) as output:
        with display_lib.Display(
            tasks, supervision.joined, supervision.works, _warn) as display:
          status = local.LocalJob(
              command, _environments(job), supervision, output, display.add,
              _warn).run()
        message = failure_message.message(supervision, output, not why_open)
        if message:
          _warn(message)
    except OSError as e:
      _warn(f"{e.filename or 'cannot start a task'}: {e.strerror or e}")
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
    return slurm.place(os.environ, _PS.value, _EVALUATOR.value,
                       _WORKERS.value if _is_given("workers") else None)
  except ValueError as e:
    if not isinstance(e, slurm.LayoutError) and not slurm.is_first(os.environ):
      sys.exit(_EXIT_BAD_INPUT)  # The first one says the same.
    raise BadInput(str(e)) from e


def _run_slurm_task(command: Sequence[str]) -> NoReturn:
  """Becomes the task of this process of srun."""
  os.execvpe(command[0], list(command), dict(
      _common_environment(), **_slurm_place().environment(_model_dir())))


def _run_pod(command: Sequence[str]) -> int:
  """Runs the task of this Kubernetes pod; returns its exit status."""
  from adanet.launch import pod  # pylint: disable=g-import-not-at-top
  try:
    return pod.run(command, _common_environment(), _warn, _model_dir())
  except ValueError as e:
    raise BadInput(str(e)) from e
  except (OSError, RuntimeError) as e:
    _warn(str(e))
    return _EXIT_FAILURE


def _print_manifests(program: Sequence[str]) -> int:
  """Prints the Kubernetes manifests of the job."""
  _check_shape()
  try:
    print(kubernetes_flags.manifests(_FLAGS, program), end="")
  except ValueError as e:
    raise BadInput(str(e)) from e
  return 0


def _show_local(_: Sequence[str]) -> int:
  """Prints what would run on this machine."""
  _check_shape()
  with ports_lib.HeldPorts(_num_ports()) as held:
    return _show_job(_make_job(held.ports), _WORKERS.value)


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
                     f"--ps={_PS.value}"])


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
  is_cluster = _is_given("workers", "ps", "evaluator")
  if "TF_CONFIG" in os.environ and not is_cluster:
    return _show_task if _DRY_RUN.value else _run_task
  if kubernetes.in_pod(os.environ) and not is_cluster:
    return _run_pod
  # In a shell that srun started, --workers=3 asks for a cluster on this node.
  if slurm.in_step(os.environ) and not (
      _is_given("workers") and slurm.is_alone(os.environ)):
    return _show_slurm if _DRY_RUN.value else _run_slurm_task
  if slurm.lacks_srun(os.environ) and not _is_given("workers"):
    raise BadInput(slurm.NEEDS_SRUN)
  return _show_local if _DRY_RUN.value else _run_local


def _run(argv: Sequence[str]) -> int:
  """Returns the exit code of a run without an error of the user."""
  program = _parse_flags(argv)
  info = _info()
  if info is not None:
    sys.stdout.write(info)
    sys.stdout.flush()
    return 0
  if not program:
    raise BadInput("no program: give the Python program of a task, such as "
                   "train.py, after the flags (--help shows examples)")
  if _FLAGS.kubernetes:
    return _print_manifests(program)  # The image has the program.
  # `bazel run` starts programs in another folder.
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd())
  try:
    command = program_lib.command(program, _MODULE.value)
    return _scenario()(command)
  except program_lib.ProgramError as e:
    raise BadInput(str(e)) from e


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs adanet-launch.

  Args:
    argv: sequence of str, the program and its arguments; None for those of the
      process.

  Returns:
    int, the exit code.
  """
  try:
    return _run(sys.argv if argv is None else argv)
  except BadInput as e:
    _warn(" ".join(str(e).split()))
    return _EXIT_BAD_INPUT
  except KeyboardInterrupt:
    return 128 + signal.SIGINT


if __name__ == "__main__":
  sys.exit(main())
