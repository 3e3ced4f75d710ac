# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an ensemble that reads handwritten digits, on a cluster.

Without TF_CONFIG, the program starts a cluster of processes on this machine: a
chief, workers and parameter servers. With TF_CONFIG in its environment, it is
one task of the cluster that TF_CONFIG describes. With --dry_run, it only prints
the plan: who builds and trains what.
"""

import itertools
import json
import os
import signal
import socket
import sys
import tempfile
import time

from absl import app
from absl import flags
from absl import logging
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import plan as plan_lib
from adanet.examples.digits import local_cluster
from adanet.examples.digits import private_network
from adanet.examples.digits import report

# The subnetworks: the widths of their hidden layers, by name.
_HIDDEN_UNITS = {
    "linear": (),
    "one_hidden_layer": (128,),
    "two_hidden_layers": (128, 64),
}
_STRATEGIES = {
    "round_robin": distributed.RoundRobinStrategy,
    "replication": distributed.ReplicationStrategy,
}
_SILENCE_SECS = 120

_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 3, "Number of workers, not counting the chief.",
    lower_bound=0, upper_bound=32)
_NUM_PS = flags.DEFINE_integer(
    "num_ps", 2, "Number of parameter servers.", lower_bound=1, upper_bound=32)
_STRATEGY = flags.DEFINE_enum(
    "strategy", "round_robin", sorted(_STRATEGIES),
    "The placement strategy: which worker builds and trains what.")
_MAX_STEPS = flags.DEFINE_integer(
    "max_steps", 1000, "Training steps of each network, over all workers.",
    lower_bound=1)
_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Folder for checkpoints. If it holds the checkpoint "
    "of an earlier run, that run continues. Default: a temporary "
    "folder, which is removed at the end.")
_DRY_RUN = flags.DEFINE_boolean(
    "dry_run", False, "Print the plan of the job, without running it.")


def _exit(code, message):
  print("digits: " + message, file=sys.stderr)
  sys.exit(code)


def _exit_for_bad_input(message):
  _exit(2, " ".join(message.split()))  # On one line.


def _parse_flags(argv):
  try:
    extra = flags.FLAGS(argv)[1:]
    if extra:
      raise flags.Error("expected only flags, got " + " ".join(extra))
  except flags.Error as e:
    _exit_for_bad_input("{} (--help lists the flags)".format(e))
  return argv[:1]


def _config(make_config):
  """Returns the `RunConfig` of a task that can take part in the job."""
  try:
    config = make_config()
  except Exception as e:  # pylint: disable=broad-except
    _exit_for_bad_input("bad TF_CONFIG: {}".format(e))
  if not config.num_ps_replicas:
    _exit_for_bad_input(
        "bad TF_CONFIG: {0.task_type}:{0.task_id} sees no ps. Expected a "
        "chief, worker or ps of a cluster with at least one ps.".format(config))
  return config


def _job():
  """Returns the `report.Job` of the cluster of TF_CONFIG or of the flags."""
  chief = tf_compat.TaskType.CHIEF
  num_workers, num_ps = 1 + _NUM_WORKERS.value, _NUM_PS.value
  if "TF_CONFIG" in os.environ:
    config = _config(lambda: tf_compat.RunConfig.for_chief(
        json.loads(os.environ["TF_CONFIG"])))
    chief = config.task_type
    num_workers, num_ps = config.num_worker_replicas, config.num_ps_replicas
  return report.Job(
      plan_lib.PlacementPlan(_STRATEGIES[_STRATEGY.value](), num_workers,
                             num_ps, len(_HIDDEN_UNITS)),
      [chief + ":0"] + ["worker:%d" % i for i in range(num_workers - 1)],
      list(_HIDDEN_UNITS))


def _check_port(address):
  """Exits if no server can listen there; TensorFlow does not name the port."""
  try:
    with socket.socket() as s:
      s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      s.bind(("", int(address.rpartition(":")[2])))
  except (OSError, OverflowError, ValueError) as e:
    _exit_for_bad_input("bad TF_CONFIG: cannot listen on {}: {}. Choose "
                        "another port.".format(address, e))


def _run_task():
  """Runs the task that TF_CONFIG describes."""
  if not _MODEL_DIR.value:
    _exit_for_bad_input("--model_dir is not set. With TF_CONFIG, it must be "
                        "the same folder for all tasks.")
  strategy = _STRATEGIES[_STRATEGY.value]()
  strategy.config = _config(
      lambda: tf_compat.RunConfig(model_dir=_make_model_dir()))
  _check_port(strategy.config.master)
  # TensorFlow reads these when it is loaded: log errors only, compute the same
  # on every CPU, and do not load Keras 3, which takes a second.
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
  os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
  from adanet.examples.digits import task  # pylint: disable=g-import-not-at-top
  try:
    task.run(strategy, _HIDDEN_UNITS, _MAX_STEPS.value)
  except OSError as e:
    _exit(1, "--model_dir: {}. Free some space or choose another folder."
          .format(e))


def _make_model_dir():
  """Returns --model_dir, a folder that exists and is writable, or exits."""
  # `bazel run` changes the working directory. The path is relative to where the
  # user typed the command.
  model_dir = os.path.abspath(
      os.path.join(
          os.environ.get("BUILD_WORKING_DIRECTORY", ""), _MODEL_DIR.value))
  try:
    os.makedirs(model_dir, exist_ok=True)
    tempfile.TemporaryFile(dir=model_dir).close()
  except OSError as e:
    _exit_for_bad_input("--model_dir={}: {}. Expected a writable folder."
                        .format(model_dir, e.strerror))
  return model_dir


def _run_cluster(model_dir, is_private):
  """Runs the job on a cluster on this machine, and prints the results."""
  start_time = time.monotonic()
  records = []
  cluster = local_cluster.LocalCluster(
      [sys.executable] + sys.argv + ["--model_dir=" + model_dir],
      {"chief": 1, "worker": _NUM_WORKERS.value, "ps": _NUM_PS.value})
  if not is_private:
    logging.warning(
        "The kernel refuses a private network. Until the job ends, anyone who "
        "can reach this machine can run any graph on its TensorFlow servers: "
        "%s.", ", ".join(itertools.chain(*cluster.cluster.values())))
  with cluster, report.Progress(_MAX_STEPS.value) as progress:
    progress.show_line("Started {}. Folder: {}".format(
        ", ".join("{} (pid {})".format(*item) for item in cluster.pids.items()),
        model_dir))
    for event in cluster.events(_SILENCE_SECS):
      if "record" in event:
        records.append(event["record"])
      else:
        progress.show_networks(event["progress"])
  report.show(_job(), records, time.monotonic() - start_time)


def main(_):
  if "TF_CONFIG" in os.environ and not _DRY_RUN.value:
    _run_task()
    return
  # Shells ignore SIGINT in the programs that they start in the background.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: sys.exit(128 + number))
  try:
    if _DRY_RUN.value:
      report.show_plan(_job())
      return
    is_private = private_network.enter()
    if _MODEL_DIR.value:
      _run_cluster(_make_model_dir(), is_private)
      return
    with tempfile.TemporaryDirectory(prefix="digits-") as model_dir:
      _run_cluster(model_dir, is_private)
  except (local_cluster.TaskError, report.RecordError) as e:
    _exit(1, str(e))
  except KeyboardInterrupt:
    _exit(128 + signal.SIGINT, "stopped by Ctrl-C. All tasks have ended.")
  except OSError as e:
    _exit(1, "cannot write a file or the results: {}".format(e))


if __name__ == "__main__":
  app.run(main, flags_parser=_parse_flags)
