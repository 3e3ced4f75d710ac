# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an ensemble that reads handwritten digits, on a cluster.

Run by itself, it starts a cluster of processes on this machine: a chief,
workers and parameter servers. Run with TF_CONFIG in its environment, it is the
one task of a cluster that TF_CONFIG names, as TensorFlow programs are. With
--dry_run it prints who would build and train what, in either, and stops.
"""

import collections
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import time

from absl import app
from absl import flags
from absl import logging
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import plan as plan_lib
from adanet.examples.digits import candidates
from adanet.examples.digits import local_cluster
from adanet.examples.digits import private_network
from adanet.examples.digits import report

_STRATEGIES = {
    "round_robin": distributed.RoundRobinStrategy,
    "replication": distributed.ReplicationStrategy,
}
_SILENCE_SECS = 120
_EXIT_BAD_INPUT = 2

_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 3, "Workers beside the chief.", lower_bound=0,
    upper_bound=32)
_NUM_PS = flags.DEFINE_integer(
    "num_ps", 2, "Parameter servers.", lower_bound=1, upper_bound=32)
_STRATEGY = flags.DEFINE_enum(
    "strategy", "round_robin", sorted(_STRATEGIES),
    "Who builds and trains what.")
_MAX_STEPS = flags.DEFINE_integer(
    "max_steps", 1000, "Steps of each network, in all workers together.",
    lower_bound=1)
_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Where checkpoints and records go, and where an earlier "
    "run is taken up again. A temporary folder, removed at the end, if not "
    "given.")
_DRY_RUN = flags.DEFINE_boolean(
    "dry_run", False, "Whether to print the plan of the job, and stop.")


def _parse_flags(argv):
  try:
    extra = flags.FLAGS(argv)[1:]
  except flags.Error as e:
    _exit(_EXIT_BAD_INPUT, "{} (--help lists the flags)".format(
        str(e).replace("\n", " ")))
  if extra:
    _exit(_EXIT_BAD_INPUT, "{}: expected flags only (--help lists them)".format(
        " ".join(extra)))
  return argv[:1]


def _exit(code, message):
  if code == _EXIT_BAD_INPUT:
    # One line, and not a long one, whatever a TF_CONFIG has. A task that failed
    # tells more.
    message = " ".join(message.split())
    if len(message) > 1000:
      message = message[:500] + " ... " + message[-500:]
  print("digits: " + message, file=sys.stderr)
  sys.exit(code)


def _make_plan(num_workers, num_ps, chief=tf_compat.TaskType.CHIEF):
  """Returns the `report.Plan` of the job on a cluster."""
  names = [candidate.name for candidate in candidates.CANDIDATES]
  return report.Plan(
      plan_lib.PlacementPlan(
          _STRATEGIES[_STRATEGY.value](), num_workers, num_ps, len(names)),
      chief, names)


def _plan_of_tf_config():
  """Returns the `report.Plan` of the cluster that TF_CONFIG names."""
  text = os.environ["TF_CONFIG"]
  try:
    config = tf_compat.RunConfig.for_chief(json.loads(text))
  except Exception as e:  # pylint: disable=broad-except
    message = str(e)
    if "TF_CONFIG" not in message:
      message = "TF_CONFIG={}: {}".format(text, message)
    _exit(_EXIT_BAD_INPUT, message)
  if not config.num_ps_replicas:
    _exit(_EXIT_BAD_INPUT, "TF_CONFIG={}: expected a cluster with at least one "
          "ps.".format(text))
  return _make_plan(
      config.num_worker_replicas, config.num_ps_replicas, config.task_type)


def _local_plan():
  """Returns the `report.Plan` of the cluster on this machine."""
  return _make_plan(1 + _NUM_WORKERS.value, _NUM_PS.value)


def _run_task():
  """Runs the task that TF_CONFIG names."""
  if not _MODEL_DIR.value:
    _exit(_EXIT_BAD_INPUT, "--model_dir=None: expected a folder, the same for "
          "all tasks, where TF_CONFIG is set.")
  strategy = _STRATEGIES[_STRATEGY.value]()
  try:
    strategy.config = tf_compat.RunConfig(model_dir=_given_model_dir())
  except Exception as e:  # pylint: disable=broad-except
    _exit(_EXIT_BAD_INPUT, str(e))
  if not strategy.config.num_ps_replicas:
    _exit(_EXIT_BAD_INPUT, "TF_CONFIG={}: expected a chief, worker or ps "
          "of a cluster with at least one ps.".format(os.environ["TF_CONFIG"]))
  # TensorFlow reads these when it is loaded: errors only, and the same figures
  # on every CPU, of which it would tell otherwise.
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
  from adanet.examples.digits import task  # pylint: disable=g-import-not-at-top
  try:
    task.run(strategy, _MAX_STEPS.value)
  except task.UserError as e:
    _exit(1, str(e))


def _given_model_dir():
  """Returns --model_dir as seen from where a person typed it, or None."""
  if not _MODEL_DIR.value:
    return None
  # `bazel run` starts programs in a folder of its own, and says from where.
  return os.path.abspath(
      os.path.join(
          os.environ.get("BUILD_WORKING_DIRECTORY", ""), _MODEL_DIR.value))


def _make_model_dir():
  """Returns `(model_dir, is_temporary)`, with no record of an earlier run."""
  model_dir = _given_model_dir()
  try:
    if not model_dir:
      return tempfile.mkdtemp(prefix="digits-"), True
    os.makedirs(model_dir, exist_ok=True)
    report.remove_records(model_dir)
    tempfile.TemporaryFile(dir=model_dir).close()
  except OSError as e:
    _exit(_EXIT_BAD_INPUT, "--model_dir={}: {}: expected a folder to write to."
          .format(model_dir, e.strerror))
  return model_dir, False


def _run_cluster(model_dir, is_private):
  """Runs a cluster on this machine to its end, and shows what it did."""
  started = time.monotonic()
  cluster = local_cluster.LocalCluster(
      [sys.executable] + sys.argv + ["--model_dir=" + model_dir],
      collections.OrderedDict(
          chief=1, worker=_NUM_WORKERS.value, ps=_NUM_PS.value))
  if not is_private:
    logging.warning(
        "This kernel refuses a private network, so until the job ends anyone "
        "who reaches this machine can run any graph in its TensorFlow servers, "
        "as %s.", ", ".join(itertools.chain(*cluster.cluster.values())))
  with cluster, report.Progress(_MAX_STEPS.value) as progress:
    progress.say("running {} in {}".format(
        ", ".join("{} (pid {})".format(*item) for item in cluster.pids.items()),
        model_dir))
    for event in cluster.events(_SILENCE_SECS):
      progress.update(event)
  report.show(_local_plan(), model_dir, time.monotonic() - started)


def main(_):
  has_tf_config = "TF_CONFIG" in os.environ
  if has_tf_config and not _DRY_RUN.value:
    _run_task()
    return
  # A shell starts what it puts in the background with this one ignored.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  for ending in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(ending, lambda number, _: sys.exit(128 + number))
  try:
    if _DRY_RUN.value:
      (_plan_of_tf_config() if has_tf_config else _local_plan()).show()
      return
    is_private = private_network.enter()
    model_dir, is_temporary = _make_model_dir()
    try:
      _run_cluster(model_dir, is_private)
    finally:
      if is_temporary:
        shutil.rmtree(model_dir, ignore_errors=True)
  except (local_cluster.TaskError, report.RecordError) as e:
    _exit(1, str(e))
  except KeyboardInterrupt:
    _exit(128 + signal.SIGINT, "stopped by Ctrl-C; all its tasks have ended.")
  except OSError as e:
    _exit(1, "cannot show or keep what the job did: {}".format(e))


if __name__ == "__main__":
  app.run(main, flags_parser=_parse_flags)
