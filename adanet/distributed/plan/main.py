# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-plan: see the placement of a cluster before you pay for it.

It prints the work of each task, the variables of each parameter server, and the
plan's problems. It starts no task and needs no TensorFlow.

A chief, 3 workers beside it, and 2 parameter servers, as adanet-launch counts:

  adanet-plan --workers=3 --ps=2 --subnetworks=3

The cluster of a TF_CONFIG, from a file, standard input or the environment:

  adanet-plan --tf_config=cluster.json --subnetworks=3
  adanet-plan --tf_config=- --subnetworks=3 < cluster.json
  TF_CONFIG="$(cat cluster.json)" adanet-plan --subnetworks=3

Compare strategies:

  adanet-plan --workers=3 --ps=2 --subnetworks=3 --compare

Check in CI that the plan has no problem:

  adanet-plan --tf_config=cluster.json --subnetworks=3 --strict

Write JSON for another program, or a picture:

  adanet-plan --workers=3 --ps=2 --subnetworks=3 --format=json > plan.json
  adanet-plan --workers=3 --ps=2 --subnetworks=3 --format=svg > plan.svg
  adanet-plan --workers=3 --ps=2 --subnetworks=3 --format=png > plan.png

Let the costs of the subnetworks divide the work:

  adanet-plan --workers=4 --subnetworks=3 --strategy=balanced --costs=1,2,4

How long an iteration takes on an executor of 4 workers:

  adanet-plan --executor_workers=4 --costs=8,5,4,4,3,2,1

Plan a strategy of your own, the class Mine in mine.py:

  adanet-plan --workers=3 --ps=2 --subnetworks=3 --strategy=mine:Mine

Exit codes: 0 for success; 1 if --strict is given and the plan has a problem; 2
if there is no plan, with one line on standard error that says why.
"""

import contextlib
import functools
import importlib
import inspect
import io
import json
import os
import sys
from typing import Optional, Sequence

from absl import flags
from adanet import distributed
from adanet import tf_compat
from adanet.console import command
from adanet.console import wording
from adanet.distributed import _arguments

# Slow imports are inside functions, so that the program starts fast: only plans
# need NumPy, only tables need Rich, and only pictures need Matplotlib.

_EXIT_PROBLEM = 1

_MAX_WORKERS = _arguments.MAX_WORKERS  # With the chief, as in a plan.
_MAX_PS = 10**5
_MAX_SUBNETWORKS = 10**5

_ROUND_ROBIN = "round_robin"
_REPLICATION = "replication"
_BALANCED = "balanced"

_COMMAND = command.Command("adanet-plan", __doc__)
_string, _boolean = (
    functools.partial(define, flag_values=_COMMAND.flags)
    for define in (flags.DEFINE_string, flags.DEFINE_boolean))
_CLUSTER = command.ClusterFlags(_COMMAND, _MAX_WORKERS - 1, _MAX_PS)
_SUBNETWORKS = _COMMAND.define_integer(
    "subnetworks", None, "Number of subnetworks in the iteration. Required, "
    "but with --executor_workers and --costs.", 1, _MAX_SUBNETWORKS)
_EXECUTOR_WORKERS = _COMMAND.define_integer(
    "executor_workers", None, "Number of workers of an executor. Show which "
    "worker trains what, and how long an iteration takes.", 1, _MAX_WORKERS)
_TF_CONFIG = _string(
    "tf_config", None, "File with the TF_CONFIG of any task of the cluster; - "
    "for standard input. Default: the TF_CONFIG of the environment, unless "
    "--workers, --ps or --evaluator is given.")
_COSTS = _string(
    "costs", None, "What a step of each subnetwork costs: numbers with commas "
    "between them, in any unit. Default: equal.")
_ENSEMBLE_COST = _string(
    "ensemble_cost", None, "What a step of all ensembles costs, in the unit of "
    "--costs: a number. 0 with a GreedyEnsembler and others that are fitted: "
    "they take part in no step. Default: a third of the costs.")
_SIZES = _string("sizes", None, "How large the variables of each subnetwork "
                                "are, like --costs.")
_STRATEGY = _string(
    "strategy", _ROUND_ROBIN, f"{_ROUND_ROBIN}, {_REPLICATION}, {_BALANCED}, "
    "or module:Class for a PlacementStrategy of your own. The class is called "
    "without arguments.")
_DROP_REMAINDER = _boolean(
    "drop_remainder", False, "For round_robin: whether the workers of a last, "
    "partial round train one subnetwork each.")
_DEDICATE = _boolean(
    "dedicate_parameter_servers", True, "For round_robin and balanced: whether "
    "each subnetwork has its own parameter servers.")
_ENSEMBLE_WORKERS = _COMMAND.define_integer(
    "num_ensemble_workers", None, "For balanced: how many of the chief and the "
    "workers build the ensembles and train nothing. Default: as many as the "
    "ensembles need, and fractions of them.", 0, _MAX_WORKERS)
# Flags, and the strategies that each is for.
_OPTIONS = ((_DROP_REMAINDER, (_ROUND_ROBIN,)),
            (_DEDICATE, (_ROUND_ROBIN, _BALANCED)),
            (_ENSEMBLE_WORKERS, (_BALANCED,)))
# Not for an executor.
_CLUSTER_ONLY = ("workers", "ps", "evaluator", "tf_config", "sizes",
                 "ensemble_cost", "strategy", "drop_remainder",
                 "dedicate_parameter_servers", "num_ensemble_workers",
                 "compare", "strict")
_FORMAT = flags.DEFINE_enum(
    "format", "table", ["table", "json", "svg", "png"],
    "What to write to standard output.", flag_values=_COMMAND.flags)
_COMPARE = _boolean(
    "compare", False, "Compare the strategy with round_robin, round_robin "
    "--drop_remainder, replication and balanced.")
_STRICT = _boolean(
    "strict", False, f"Exit with {_EXIT_PROBLEM} if the plan of the strategy "
    "has a problem. With --compare, the problems of the other plans do not "
    "count.")


def _error_text(error):
  """Returns an exception as text, with its type."""
  return f"{type(error).__name__}: {error}"


def _folder():
  """Returns the folder that the user is in."""
  # `bazel run` starts programs in another folder.
  return os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd()


def _read_tf_config(path):
  """Returns the bytes of a file, or of standard input for "-"."""
  if path == "-":
    if sys.stdin is None:
      raise OSError("standard input is closed")
    return sys.stdin.buffer.read()
  with open(os.path.join(_folder(), path), "rb") as f:
    return f.read()


def _shape_of_tf_config(path):
  """Returns `(num_workers, num_ps, chief)` of the cluster in a `TF_CONFIG`.

  The chief counts as a worker. Its job is "chief" or "master". `path` is a
  file, "-" for standard input, or None for the variable of the environment.
  """
  source = "" if path is None else f"--tf_config={path}: "
  try:
    tf_config = (os.environ["TF_CONFIG"] if path is None else
                 _read_tf_config(path))
    if isinstance(tf_config, bytes):
      tf_config = tf_config.decode("utf-8")
    tf_config = json.loads(tf_config)
  except OSError as e:
    raise command.BadInput(
        f"{source}{e.strerror or e}: expected a file with a TF_CONFIG.") from e
  except ValueError as e:
    raise command.BadInput(
        f"{source}TF_CONFIG must be a JSON object: {e}.") from e
  try:
    config = tf_compat.RunConfig.for_chief(tf_config)
  except Exception as e:  # pylint: disable=broad-except
    raise command.BadInput(f"{source}{e}.") from e
  return config.num_worker_replicas, config.num_ps_replicas, config.task_type


def _parse_weights(flag, num_subnetworks):
  """Returns the numbers of --costs or --sizes as a tuple; None for none."""
  if flag.value is None:
    return None
  try:
    weights = tuple(map(_parse_weight, flag.value.split(",")))
  except ValueError:
    weights = ()
  if len(weights) != num_subnetworks:
    raise command.BadInput(
        f"--{flag.name}={flag.value}: expected "
        f"{_arguments.numbers_in_range(num_subnetworks)}"
        f"{' with commas between them' * (num_subnetworks != 1)}, one for each "
        "subnetwork.")
  return weights


def _parse_cost(flag):
  """Returns the number of --ensemble_cost; None for none."""
  if flag.value is None:
    return None
  try:
    return 0 if float(flag.value) == 0 else _parse_weight(flag.value)
  except ValueError as e:
    raise command.BadInput(
        f"--{flag.name}={flag.value}: expected 0, or a number "
        f"{_arguments.RANGE}.") from e


def _parse_weight(text):
  """Returns a number that a plan takes, or raises a ValueError."""
  number = float(text)
  if not _arguments.LEAST <= number <= _arguments.MOST:
    raise ValueError(text)
  return int(text) if text.strip().isdigit() else number


def _load_strategy(name):
  """Returns a `PlacementStrategy` of the user, "module:Class".

  The module may be in the user's folder. The class is called without arguments.
  """
  source = "--strategy=" + name
  module_name, _, class_name = name.partition(":")
  if not module_name or not class_name:
    raise command.BadInput(
        source + ": expected round_robin, replication, balanced or "
        "module:Class.")
  try:
    sys.path.insert(0, _folder())
    module = importlib.import_module(module_name)
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    raise command.BadInput(f"{source}: cannot import {module_name}: "
                           f"{_error_text(e)}") from e
  strategy_class = getattr(module, class_name, None)
  if not (inspect.isclass(strategy_class) and
          issubclass(strategy_class, distributed.PlacementStrategy)):
    raise command.BadInput(
        f"{source}: expected a subclass of PlacementStrategy in "
        f"{getattr(module, '__file__', module_name)}.")
  try:
    return strategy_class()
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    raise command.BadInput(
        f"{source}: cannot call {class_name} without arguments: "
        f"{_error_text(e)}") from e


def _shape():
  """Returns `(num_workers, num_ps, chief)`, as `_shape_of_tf_config` does."""
  path = _TF_CONFIG.value
  if _CLUSTER.are_given:
    if path is not None:
      raise command.BadInput(f"--tf_config={path}: expected no --workers, no "
                             "--ps and no --evaluator.")
    return 1 + _CLUSTER.workers.value, _CLUSTER.ps.value, "chief"
  if path is None and "TF_CONFIG" not in os.environ:
    raise command.BadInput(
        "no cluster: give --workers and --ps, or --tf_config, or set TF_CONFIG "
        "(--help lists the flags)")
  return _shape_of_tf_config(path)


def _make_strategy(costs, sizes, ensemble_cost):
  """Returns the strategy that the flags name."""
  name = _STRATEGY.value
  options = {}
  for flag, names in _OPTIONS:
    if _COMMAND.is_given(flag.name):
      options[flag.name] = flag.value
      if name not in names:
        raise command.BadInput(
            f"--{flag.name}: expected --strategy={' or '.join(names)}, got "
            f"--strategy={name}.")
  if name == _ROUND_ROBIN:
    return distributed.RoundRobinStrategy(**options)
  if name == _REPLICATION:
    return distributed.ReplicationStrategy()
  if name == _BALANCED:
    return distributed.BalancedStrategy(
        costs, sizes, ensemble_cost=ensemble_cost, **options)
  return _load_strategy(name)


def _check_size(num_workers, num_subnetworks):
  """Raises if a cluster, or an executor, is too large for a plan."""
  try:
    _arguments.check_cluster(num_workers, num_subnetworks)
  except ValueError as e:
    raise command.BadInput(str(e)) from e


def _make_plans(strategy, num_workers, num_ps, costs, sizes, ensemble_cost):
  """Returns the plan of a strategy and, with --compare, of all strategies."""
  from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  shape = (num_workers, num_ps, _SUBNETWORKS.value)
  try:
    plans = [plan_lib.PlacementPlan(
        strategy, *shape, costs, sizes, ensemble_cost)]
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    if ":" not in _STRATEGY.value:
      raise
    raise command.BadInput(f"--strategy={_STRATEGY.value}: a decision failed: "
                           f"{_error_text(e)}") from e
  if _COMPARE.value:
    # A strategy may have costs and sizes of its own. Then all plans have these.
    costs, sizes = plans[0].costs, plans[0].sizes
    ensemble_cost = plans[0].own_ensemble_cost
    for other in (distributed.RoundRobinStrategy(),
                  distributed.RoundRobinStrategy(drop_remainder=True),
                  distributed.ReplicationStrategy(),
                  distributed.BalancedStrategy(
                      costs, sizes, ensemble_cost=ensemble_cost)):
      if (type(other), repr(other)) != (type(strategy), repr(strategy)):
        plans.append(plan_lib.PlacementPlan(
            other, *shape, costs, sizes, ensemble_cost))
  return plans


def _dumps(value):
  return json.dumps(value, indent=2, allow_nan=False) + "\n"


def _write(plans, worker_names, output):
  """Writes a plan or, with --compare, the comparison."""
  # pylint: disable=g-import-not-at-top
  from adanet.distributed import plan as plan_lib
  if _FORMAT.value == "json":
    output.write(_dumps(
        dict(version=plan_lib.JSON_VERSION, **plan_lib.compare(plans))
        if _COMPARE.value else plans[0].to_json_dict()))
  elif _FORMAT.value == "table":
    from adanet.console import tables
    from adanet.distributed.plan import table
    console = tables.new_console(output)
    if _COMPARE.value:
      table.show_comparison(plans, console, worker_names)
    else:
      table.show(plans[0], console, worker_names)
  else:
    from adanet.distributed.plan import picture
    drawn = io.BytesIO()
    picture.write(plans, drawn, _FORMAT.value, worker_names)
    output.buffer.write(drawn.getvalue())


def _run_executor():
  """Prints the plan of an executor."""
  cluster_flags = [name for name in _CLUSTER_ONLY if _COMMAND.is_given(name)]
  source = f"--executor_workers={_EXECUTOR_WORKERS.value}: expected "
  if cluster_flags:
    raise command.BadInput(
        f"{source}no --{cluster_flags[0]}, which is for a cluster with "
        "parameter servers.")
  if _FORMAT.value not in ("table", "json"):
    raise command.BadInput(
        f"{source}--format=table or json, got --format={_FORMAT.value}.")
  count = _SUBNETWORKS.value
  if count is None:
    if _COSTS.value is None:
      raise command.BadInput(f"{source}--costs or --subnetworks.")
    count = _COSTS.value.count(",") + 1
  _check_size(_EXECUTOR_WORKERS.value, count)
  from adanet.distributed.plan import executor  # pylint: disable=g-import-not-at-top
  plan = executor.ExecutorPlan(
      _EXECUTOR_WORKERS.value, count, _parse_weights(_COSTS, count))
  with command.standard_output() as output:
    if _FORMAT.value == "json":
      output.write(_dumps(plan.to_json_dict()))
      return
    from adanet.console import tables  # pylint: disable=g-import-not-at-top
    from adanet.distributed.plan import table as plan_table  # pylint: disable=g-import-not-at-top
    plan_table.show_executor(plan, tables.new_console(output))


def _run(arguments):
  """Returns the exit code of a run without an error."""
  if arguments:
    raise command.BadInput(f"{' '.join(arguments)}: expected flags only "
                           "(--help lists them)")
  if _EXECUTOR_WORKERS.value is not None:
    _run_executor()
    return 0
  if _SUBNETWORKS.value is None:
    raise command.BadInput("--subnetworks: expected the number of subnetworks "
                           "in the iteration (--help lists the flags)")
  # A user's strategy may print, and that is no part of the output.
  with command.standard_output() as output, \
      contextlib.redirect_stdout(sys.stderr):
    if _FORMAT.value == "png" and output.isatty():
      raise command.BadInput("--format=png: expected no terminal as standard "
                             "output: add > plan.png")
    weights = [_parse_weights(flag, _SUBNETWORKS.value)
               for flag in (_COSTS, _SIZES)]
    weights.append(_parse_cost(_ENSEMBLE_COST))
    strategy = _make_strategy(*weights)
    num_workers, num_ps, chief = _shape()
    _check_size(num_workers, _SUBNETWORKS.value)
    worker_names = wording.worker_names(num_workers, chief)
    plans = _make_plans(strategy, num_workers, num_ps, *weights)
    _write(plans, worker_names, output)
    problems = plans[0].problems(worker_names) if _STRICT.value else ()
  if _FORMAT.value != "table":  # The tables have the problems already.
    for problem in problems:
      _COMMAND.warn("--strict: " + problem.message)
  return _EXIT_PROBLEM if problems else 0


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs the program; see `Command.main`."""
  return _COMMAND.main(_run, argv)


if __name__ == "__main__":
  sys.exit(main())
