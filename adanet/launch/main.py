# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-launch: start all tasks of a search with one command.

A cluster on this machine: a chief, 3 more workers, 2 parameter servers, and an
evaluator. Each task runs train.py, with the TF_CONFIG of the task:

  adanet-launch --workers=3 --ps=2 --evaluator train.py --learning_rate=.1

Flags after the program are the program's. The program may also be a module, or
any executable file:

  adanet-launch --workers=3 --ps=2 -m my_project.train --learning_rate=.1
  adanet-launch --workers=3 --ps=2 ./train.sh

Show the TF_CONFIG of each task and the plan of 5 subnetworks; start nothing:

  adanet-launch --workers=3 --ps=2 --subnetworks=5 --dry_run train.py

Keep the output of the tasks in files, and name the folder of the search (for
programs with a RunConfig without `model_dir`):

  adanet-launch --workers=3 --ps=2 --log_dir=logs --model_dir=model train.py

A task of a cluster with known addresses, started on each machine:

  TF_CONFIG="$(cat task.json)" adanet-launch train.py

Slurm: each process of srun is a task. Here 6 processes are a chief, 2 workers,
2 parameter servers, and an evaluator:

  srun --nodes=3 --ntasks=6 adanet-launch --ps=2 --evaluator train.py

Kubernetes: print the objects to create, as JSON. IMAGE has adanet-launch and
the program:

  adanet-launch --scheduler=kubernetes --image=IMAGE --workers=3 --ps=2 \\
      --model_dir=/model --volume_claim=CLAIM train.py | kubectl create -f -

--scheduler says how a job runs. Without --scheduler, the environment decides,
and a line shows the choice: "task" if TF_CONFIG is set, or in a pod of the
printed manifests; "slurm" in a process of srun; otherwise "local". If
--workers, --ps or --evaluator describe a cluster, TF_CONFIG is not used. A flag
without effect is an error.

When a task fails: If the task fails before working (such as by a typing error
in train.py), the job ends at once. A task that was killed, or that failed after
starting to work, starts again after 1, 2, 4, ... seconds, at most
--max_restarts times. Then the job ends, and the last lines of the task that
failed first are printed. When the chief is done, the other tasks have 60
seconds to end by themselves.

Ctrl-C, SIGTERM and SIGHUP ask all tasks to end, and kill the tasks after 10
seconds. If the chief is starting again, the tasks have 60 seconds, because the
chief first saves the steps that the workers have trained meanwhile. A second
Ctrl-C kills all tasks at once. No process outlives adanet-launch. The processes
of a task end with the task, so a shell script should `exec` the program.

The tasks have a private network, where the kernel allows it, because a
TensorFlow server runs any graph for anyone with access to its port. Programs
that load data from the Internet need --noprivate_network.

The environment of each task has TF_CONFIG; ADANET_JOB_ID, the same for all
tasks of a job; ADANET_EVENTS_FD, a file descriptor for progress reports;
CUDA_VISIBLE_DEVICES, with the task's share of the GPUs; COLUMNS; and
TF_CPP_MIN_LOG_LEVEL (default: 2).

Exit codes: 0 for success; 2 for bad flags, with a line on standard error; 128 +
n if signal n stopped the job; otherwise the exit code of the task that failed
first.
"""

import contextlib
import os
import shlex
import subprocess
import sys
from typing import Dict, Iterator, NoReturn, Optional, Sequence

from absl import flags
from adanet import checks
from adanet.console import command as command_lib
from adanet.launch import display as display_lib
from adanet.launch import job as job_lib
from adanet.launch import kubernetes
from adanet.launch import local
from adanet.launch import machine
from adanet.launch import pod
from adanet.launch import processes
from adanet.launch import scheduler as scheduler_lib
from adanet.launch import slurm

_EXIT_FAILURE = 1
_MAX_TASKS = 1000

_COMMAND = command_lib.Command(
    "adanet-launch", __doc__, takes_program=True)
_SCHEDULER = flags.DEFINE_enum(
    "scheduler", None, scheduler_lib.ALL, "How the job runs. local: start all "
    "tasks on this machine. slurm: run the task of this process of srun. "
    "kubernetes: print the manifests, start nothing. task: run the one task of "
    "TF_CONFIG, or of this pod. Default: the environment decides.",
    flag_values=_COMMAND.flags)
_CLUSTER = command_lib.ClusterFlags(_COMMAND, _MAX_TASKS, _MAX_TASKS)
_MAX_RESTARTS = _COMMAND.define_integer(
    "max_restarts", 3, "How often each task is started again at most.", 0,
    2**31 - 1)  # Kubernetes takes no more.
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
scheduler_lib.define_flags(_COMMAND.flags)


def _check_folders() -> None:
  """Raises `BadInput` for an empty --model_dir or --log_dir."""
  for flag in _MODEL_DIR, _LOG_DIR:
    if flag.value is not None:
      with _errors_of_user():
        checks.check_folder("--" + flag.name, flag.value, or_none=False)


def _make_folder(flag: flags.FlagHolder) -> Optional[str]:
  """Makes the folder of a flag; returns the absolute path."""
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


def _model_dir() -> Optional[str]:
  """Returns --model_dir, absolute unless a URL."""
  if _MODEL_DIR.value is None or "://" in _MODEL_DIR.value:
    return _MODEL_DIR.value
  return os.path.abspath(os.path.expanduser(_MODEL_DIR.value))


def _common_environment() -> Dict[str, str]:
  """Returns the common environment of all tasks."""
  environment = dict(os.environ, PYTHONUNBUFFERED="1")
  environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  if _MODEL_DIR.value is not None:
    environment["ADANET_MODEL_DIR"] = _model_dir() or ""
  return environment


def _environments(job: job_lib.Job) -> Dict[job_lib.Task, Dict[str, str]]:
  """Returns the environment of each task on this machine."""
  tasks = job.tasks()
  gpus = machine.visible_gpus(os.environ)
  shares = machine.gpu_shares(tasks, gpus)
  message = machine.gpu_sharing_message(tasks, gpus)
  if message:
    _COMMAND.warn(message)
  common, job_id = _common_environment(), os.urandom(8).hex()
  return {
      task: dict(common, COLUMNS=str(display_lib.columns(task)), **dict(
          job_lib.Place(job, task, job_id).environment(_model_dir()),
          **shares[task]))
      for task in tasks
  }


@contextlib.contextmanager
def _held_job() -> Iterator[job_lib.Job]:
  """Yields the job on this machine; holds the ports meanwhile."""
  workers, ps = _CLUSTER.workers.value, _CLUSTER.ps.value
  with machine.held_ports(1 + workers + ps) as ports:
    yield job_lib.make_job(workers, ps, _CLUSTER.evaluator.value, [
        f"127.0.0.1:{port}" for port in ports])


def _why_network_is_open() -> Optional[str]:
  """Returns why the tasks need the network of this machine, or None."""
  if not _PRIVATE_NETWORK.value:
    return "--noprivate_network"
  path = _MODEL_DIR.value or ""
  if "://" in path and not path.startswith("file:"):
    return f"--model_dir={path} is not on this machine"
  return None


@contextlib.contextmanager
def _errors_of_user(in_step: bool = False) -> Iterator[None]:
  """Raises `BadInput` for errors of the user.

  With `in_step`, all processes of srun find the error, and the first process
  shows the error.
  """
  try:
    yield
  except ValueError as e:
    if (in_step and not isinstance(e, slurm.LayoutError) and
        not slurm.is_first(os.environ)):
      sys.exit(command_lib.EXIT_BAD_INPUT)
    raise command_lib.BadInput(str(e)) from e


def _say_choice(why: Optional[str], scheduler: str) -> None:
  """Prints which scheduler the environment chose; why is None if a flag did."""
  if why:
    _COMMAND.warn(f"Using --scheduler={scheduler}: {why}.")


def _run_local(command: Sequence[str], why: Optional[str]) -> int:
  """Runs the job on this machine; returns the exit status."""
  _CLUSTER.check_servers()
  log_dir = _make_folder(_LOG_DIR)
  _say_choice(why, scheduler_lib.LOCAL)
  if _DRY_RUN.value:
    with _held_job() as job:
      return _show_job(job)
  return processes.run_guarded(lambda: _run_guarded(command, log_dir))


def _run_guarded(command, log_dir):
  """Runs the job in this process."""
  why_open = _why_network_is_open()
  if not why_open and not machine.enter_private_network():
    why_open = "the kernel refuses it"
  with _held_job() as job:
    tasks = job.tasks()
    if why_open:
      ports = [address.rpartition(":")[2] for addresses in
               job.addresses.values() for address in addresses]
      _COMMAND.warn(
          f"The network is not private: {why_open}. Until the job ends, anyone "
          "who can reach this machine can run any graph on its TensorFlow "
          f"servers, at the ports {', '.join(ports)}.")
    supervision = job_lib.Supervision(tasks, _MAX_RESTARTS.value)
    try:
      with display_lib.Output(tasks, log_dir, _COMMAND.warn) as output:
        with display_lib.Display(
            tasks, supervision.joined, supervision.works,
            _COMMAND.warn) as display:
          status = local.LocalJob(
              command, _environments(job), supervision, output, display.add,
              display.lose, _COMMAND.warn).run()
        if supervision.has_unsaved:
          _COMMAND.warn(display.lost())
        message = display_lib.failure_message(
            supervision, output, not why_open)
        if message:
          _COMMAND.warn(message)
    except OSError as e:
      _COMMAND.warn(f"{e.filename or 'cannot start a task'}: {e.strerror or e}")
      return _EXIT_FAILURE
  return status


def _run_task(command: Sequence[str], why: Optional[str]) -> int:
  """Becomes the task of the TF_CONFIG in the environment, or of this pod."""
  _say_choice(why, scheduler_lib.TASK)
  is_pod = "TF_CONFIG" not in os.environ
  if is_pod and not _DRY_RUN.value:
    return _run_pod(command)
  with _errors_of_user():
    if is_pod:
      place = kubernetes.place(os.environ)
      tf_config = place.job.tf_config(place.task, _model_dir())
    else:
      tf_config = job_lib.with_model_dir(
          os.environ["TF_CONFIG"], _model_dir())
  if _DRY_RUN.value:
    print("TF_CONFIG=" + shlex.quote(tf_config))
    return _show_plan(tf_config)
  _become(command, {"TF_CONFIG": tf_config})


def _become(command: Sequence[str], variables: Dict[str, str]) -> NoReturn:
  """Becomes a task with additional variables in the environment."""
  os.execvpe(
      command[0], list(command), dict(_common_environment(), **variables))


def _run_slurm_task(command: Sequence[str], why: Optional[str]) -> int:
  """Becomes the task of this process of srun."""
  with _errors_of_user(in_step=True):
    place = slurm.place(
        os.environ, _CLUSTER.ps.value, _CLUSTER.evaluator.value,
        _CLUSTER.workers.value if _COMMAND.is_given("workers") else None)
  if slurm.is_first(os.environ):
    _say_choice(why, scheduler_lib.SLURM)
  if not _DRY_RUN.value:
    _become(command, place.environment(_model_dir()))
  return _show_job(place.job) if slurm.is_first(os.environ) else 0


def _run_pod(command: Sequence[str]) -> int:
  """Runs the task of this Kubernetes pod; returns the exit status."""
  try:
    with _errors_of_user():
      return pod.run(
          command, _common_environment(), _COMMAND.warn, _model_dir())
  except (OSError, RuntimeError) as e:
    _COMMAND.warn(str(e))
    return _EXIT_FAILURE


def _print_manifests(program: Sequence[str]) -> int:
  """Prints the Kubernetes manifests of the job."""
  _CLUSTER.check_servers()
  spec = scheduler_lib.kubernetes_spec(_COMMAND.flags, program)
  with _errors_of_user():
    print(kubernetes.manifests(spec, kubernetes.new_job_id(spec.name)), end="")
  for name, command in kubernetes.commands(spec).items():
    _COMMAND.warn(f"{name}: {command}")
  return 0


def _show_job(job: job_lib.Job) -> int:
  """Prints the TF_CONFIG of each task and the plan; returns the exit status."""
  for task in job.tasks():
    tf_config = job.tf_config(task, _model_dir())
    print(f"# {task.name}\nTF_CONFIG={shlex.quote(tf_config)}")
  return _show_plan(job.tf_config(job.tasks()[0]))


def _show_plan(tf_config: str) -> int:
  """Prints the plan of a cluster if --subnetworks is set; returns the status.

  Args:
    tf_config: str, the TF_CONFIG of a task of the cluster.
  """
  if _SUBNETWORKS.value is None:
    return 0
  command = [sys.executable, "-m", "adanet.distributed.plan",
             "--tf_config=-", f"--subnetworks={_SUBNETWORKS.value}"]
  if _STRATEGY.value is not None:
    command.append("--strategy=" + _STRATEGY.value)
  print(flush=True)
  return subprocess.run(
      command, check=False, input=tf_config.encode(), env=dict(
          os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
  ).returncode


def _run(program: Sequence[str]) -> int:
  """Returns the exit code of a run without an error of the user."""
  if not program:
    raise command_lib.BadInput(
        "no program: give the Python program of a task, such as train.py, "
        "after the flags (--help shows examples)")
  _check_folders()
  scheduler, why = _SCHEDULER.value, None
  if scheduler is None:
    scheduler, why = scheduler_lib.choose(os.environ, _COMMAND.is_given)
  is_slurm = scheduler == scheduler_lib.SLURM
  if is_slurm and not slurm.in_step(os.environ):
    raise command_lib.BadInput(slurm.NEEDS_SRUN)
  with _errors_of_user(in_step=is_slurm):
    scheduler_lib.check_flags(scheduler, _COMMAND.is_given)
  if (scheduler == scheduler_lib.TASK and "TF_CONFIG" not in os.environ and
      not kubernetes.in_pod(os.environ)):
    raise command_lib.BadInput(
        "TF_CONFIG: not set, expected the TF_CONFIG of the task to run. Set "
        "TF_CONFIG, or use another --scheduler.")
  if scheduler == scheduler_lib.KUBERNETES:
    return _print_manifests(program)  # The image has the program.
  # `bazel run` starts programs in another folder.
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd())
  with _errors_of_user():
    command = job_lib.command(program, _MODULE.value)
  if is_slurm:
    return _run_slurm_task(command, why)
  return (_run_local if scheduler == scheduler_lib.LOCAL else _run_task)(
      command, why)


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs the program with `argv`, or the process's; see `Command.main`."""
  return _COMMAND.main(_run, argv)


if __name__ == "__main__":
  sys.exit(main())
