# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-plan: see the placement of a cluster before you pay for it.

Prints what each worker builds and trains, what each parameter server holds, and
the problems of that. Starts no worker and needs no TensorFlow.

A cluster in numbers:

  adanet-plan --workers=4 --ps=2 --subnetworks=3

The cluster of a TF_CONFIG, from a file, standard input or the environment:

  adanet-plan --tf_config=cluster.json --subnetworks=3
  adanet-plan --tf_config=- --subnetworks=3 < cluster.json
  TF_CONFIG="$(cat cluster.json)" adanet-plan --subnetworks=3

Compare strategies:

  adanet-plan --workers=4 --ps=2 --subnetworks=3 --compare

Check in CI that the plan has no problem:

  adanet-plan --tf_config=cluster.json --subnetworks=3 --strict

Write JSON for another program, or a picture:

  adanet-plan --workers=4 --ps=2 --subnetworks=3 --format=json > plan.json
  adanet-plan --workers=4 --ps=2 --subnetworks=3 --format=svg > plan.svg
  adanet-plan --workers=4 --ps=2 --subnetworks=3 --compare --format=png > plan.png

Plan a strategy of your own, the class Mine in mine.py:

  adanet-plan --workers=4 --ps=2 --subnetworks=3 --strategy=mine:Mine

Exit codes: 0 for success; 1 if --strict is given and the plan has a problem; 2
if there is no plan, with one line on standard error that says why.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import signal
import sys

from absl import flags
from adanet import distributed

# What takes long to import is imported where it is used, so that this starts
# fast: NumPy for any plan, Rich for tables and Matplotlib for pictures alone.

_EXIT_PROBLEM = 1
_EXIT_BAD_INPUT = 2

# A worker costs nothing, in the strategies of this project; the others do. Any
# other strategy is asked as each worker: a million take seconds and 400 MB.
_MAX_WORKERS = 10**12
_MAX_ASKED_WORKERS = 10**6
_MAX_DRAWN_WORKERS = 10**7
_MAX_PS = 10**5
_MAX_SUBNETWORKS = 10**5
_MAX_TF_CONFIG_BYTES = 2**28

_ROUND_ROBIN = "round_robin"
_REPLICATION = "replication"


class _BadInput(Exception):
  """An error of the user, with a message of one line."""


class _IntegerParser(flags.IntegerParser):
  """As absl's, with an error that says what is expected."""

  def parse(self, argument):
    try:
      return super().parse(argument)
    except ValueError:
      is_integer = re.match(r"\s*[-+]?\d+\s*$", argument)
      raise ValueError("expected {}{}.".format(
          self.syntactic_help, "" if is_integer else ", got a non-integer"
      )) from None


# Values of their own, because flags.FLAGS has the flags of other modules too.
_INFO_FLAGS = flags.FlagValues()
_FLAGS = flags.FlagValues()

_HELP = flags.DEFINE_boolean(
    "help", False, "Print this help.", short_name="h", flag_values=_INFO_FLAGS)
_VERSION = flags.DEFINE_boolean(
    "version", False, "Print the version.", flag_values=_INFO_FLAGS)
_FLAGS.append_flag_values(_INFO_FLAGS)


def _define_integer(name, description, at_least, at_most):
  return flags.DEFINE(
      _IntegerParser(at_least, at_most), name, None, description,
      flag_values=_FLAGS)


_WORKERS = _define_integer(
    "workers", "Number of workers, including the chief.", 1, _MAX_WORKERS)
_PS = _define_integer(
    "ps", "Number of parameter servers; 0 if only --workers is given.", 0,
    _MAX_PS)
_SUBNETWORKS = _define_integer(
    "subnetworks", "Number of subnetworks in the iteration. Required.", 1,
    _MAX_SUBNETWORKS)
_TF_CONFIG = flags.DEFINE_string(
    "tf_config", None, "File with the TF_CONFIG of any task of the cluster; - "
    "for standard input. Without --tf_config, --workers and --ps, the TF_CONFIG "
    "of the environment is used.", flag_values=_FLAGS)
_STRATEGY = flags.DEFINE_string(
    "strategy", _ROUND_ROBIN, "{}, {}, or module:Class for a PlacementStrategy "
    "of your own. The class is called without arguments.".format(
        _ROUND_ROBIN, _REPLICATION), flag_values=_FLAGS)
_DROP_REMAINDER = flags.DEFINE_boolean(
    "drop_remainder", False, "For round_robin: whether the workers of a last, "
    "partial round train one subnetwork each.", flag_values=_FLAGS)
_DEDICATE = flags.DEFINE_boolean(
    "dedicate_parameter_servers", True, "For round_robin: whether each "
    "subnetwork has its own parameter servers.", flag_values=_FLAGS)
_FORMAT = flags.DEFINE_enum(
    "format", "table", ["table", "json", "svg", "png"],
    "What to write to standard output.", flag_values=_FLAGS)
_COMPARE = flags.DEFINE_boolean(
    "compare", False, "Compare the strategy with round_robin, round_robin "
    "--drop_remainder and replication.", flag_values=_FLAGS)
_STRICT = flags.DEFINE_boolean(
    "strict", False, "Exit with {} if the plan of the strategy has a problem. "
    "With --compare, the problems of the other plans do not count.".format(
        _EXIT_PROBLEM), flag_values=_FLAGS)


def _parse_flags(argv):
  """Sets the flags to the values on the command line."""
  try:
    # These two work beside wrong flags.
    _INFO_FLAGS.set_gnu_getopt(True)
    _INFO_FLAGS(argv, known_only=True)
    if _HELP.value or _VERSION.value:
      return
    extra = _FLAGS(argv)[1:]
  except flags.IllegalFlagValueError as e:
    raise _BadInput(re.sub("^flag ", "", str(e))) from e
  except flags.Error as e:
    raise _BadInput("{} (--help lists the flags)".format(e)) from e
  if extra:
    raise _BadInput("{}: expected flags only (--help lists them)".format(
        " ".join(extra)))


def _is_given(flag):
  return bool(_FLAGS[flag.name].present)


def _help():
  """Returns the text for --help."""
  # The first line names the module, which is nothing to the user.
  flags_help = _FLAGS.get_help(include_special_flags=False)
  return "{}\n\nFlags:\n{}\n".format(
      inspect.cleandoc(__doc__), flags_help[flags_help.index("\n  -"):])


def _folder():
  """Returns the folder that the user is in."""
  # `bazel run` starts programs in a folder of its own, and says from where.
  return os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd()


def _read_tf_config(path):
  """Returns the bytes of a file, or of standard input for "-"."""
  if path == "-":
    if sys.stdin is None:
      raise OSError("standard input is closed")
    return sys.stdin.buffer.read(_MAX_TF_CONFIG_BYTES + 1)
  with open(os.path.join(_folder(), path), "rb") as f:
    return f.read(_MAX_TF_CONFIG_BYTES + 1)


def _shape_of_tf_config(tf_config, source):
  """Returns `(num_workers, num_ps)`.

  Args:
    tf_config: bytes or str, a `TF_CONFIG`.
    source: str, what errors begin with: where it comes from.
  """
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  if len(tf_config) > _MAX_TF_CONFIG_BYTES:
    raise _BadInput("{}expected a TF_CONFIG, got more than {} bytes.".format(
        source, _MAX_TF_CONFIG_BYTES))
  try:
    if isinstance(tf_config, bytes):
      tf_config = tf_config.decode("utf-8")
    tf_config = json.loads(tf_config)
  except (ValueError, RecursionError) as e:
    raise _BadInput("{}TF_CONFIG must be a JSON object: {}.".format(
        source, e)) from e
  try:
    config = tf_compat.RunConfig.for_chief(tf_config)
  except Exception as e:  # pylint: disable=broad-except
    raise _BadInput("{}{}.".format(source, e)) from e
  return config.num_worker_replicas, config.num_ps_replicas


def _shape():
  """Returns `(num_workers, num_ps)` of the cluster that the user means."""
  path = _TF_CONFIG.value
  has_numbers = _is_given(_WORKERS) or _is_given(_PS)
  if path is not None:
    if has_numbers:
      raise _BadInput("--tf_config={}: expected without --workers and --ps, "
                      "which it tells.".format(path))
    try:
      tf_config = _read_tf_config(path)
    except OSError as e:
      raise _BadInput("--tf_config={}: {}: expected a file with a TF_CONFIG."
                      .format(path, e.strerror or e)) from e
    return _shape_of_tf_config(tf_config, "--tf_config={}: ".format(path))
  if has_numbers:
    if not _is_given(_WORKERS):
      raise _BadInput("--workers: expected beside --ps={}.".format(_PS.value))
    return _WORKERS.value, _PS.value or 0
  if "TF_CONFIG" in os.environ:
    return _shape_of_tf_config(os.environ["TF_CONFIG"], "")
  raise _BadInput("no cluster: give --workers and --ps, or --tf_config, or set "
                  "TF_CONFIG (--help lists the flags)")


def _error_text(error):
  return "{}: {}".format(type(error).__name__, error)


def _user_strategy(name):
  """Returns a strategy of the user's, from "module:Class"."""
  source = "--strategy=" + name
  module_name, _, class_name = name.partition(":")
  if not module_name or not class_name:
    raise _BadInput("{}: expected {}, {} or module:Class.".format(
        source, _ROUND_ROBIN, _REPLICATION))
  try:
    sys.path.insert(0, _folder())
    module = importlib.import_module(module_name)
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    raise _BadInput("{}: cannot import {}: {}".format(
        source, module_name, _error_text(e))) from e
  strategy_class = getattr(module, class_name, None)
  if not (inspect.isclass(strategy_class) and
          issubclass(strategy_class, distributed.PlacementStrategy)):
    raise _BadInput("{}: expected a subclass of PlacementStrategy in {}."
                    .format(source, getattr(module, "__file__", module_name)))
  try:
    return strategy_class()
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    raise _BadInput("{}: cannot make one without arguments: {}".format(
        source, _error_text(e))) from e


def _make_strategy():
  """Returns the strategy that the flags name."""
  name = _STRATEGY.value
  options = {
      flag.name: flag.value
      for flag in (_DROP_REMAINDER, _DEDICATE) if _is_given(flag)
  }
  if name == _ROUND_ROBIN:
    return distributed.RoundRobinStrategy(**options)
  for option in options:
    raise _BadInput("--{}: expected with --strategy={} only, got "
                    "--strategy={}.".format(option, _ROUND_ROBIN, name))
  if name == _REPLICATION:
    return distributed.ReplicationStrategy()
  return _user_strategy(name)


def _check_num_workers(num_workers):
  """Raises where a cluster is too large for what else is asked for."""
  for is_limited, flag, at_most in (
      (_FORMAT.value in ("svg", "png"), _FORMAT, _MAX_DRAWN_WORKERS),
      (":" in _STRATEGY.value, _STRATEGY, _MAX_ASKED_WORKERS)):
    if is_limited and num_workers > at_most:
      raise _BadInput(
          "--workers={}: expected an integer of at most {} with --{}={}."
          .format(num_workers, at_most, flag.name, flag.value))


def _make_plans(strategy, num_workers, num_ps):
  """Returns the plan of a strategy and, with --compare, those of others."""
  from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  shape = (num_workers, num_ps, _SUBNETWORKS.value)
  try:
    plans = [plan_lib.PlacementPlan(strategy, *shape)]
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    if ":" not in _STRATEGY.value:
      raise
    raise _BadInput("--strategy={}: asked as each of the workers: {}".format(
        _STRATEGY.value, _error_text(e))) from e
  if _COMPARE.value:
    for other in (distributed.RoundRobinStrategy(),
                  distributed.RoundRobinStrategy(drop_remainder=True),
                  distributed.ReplicationStrategy()):
      if (type(other), repr(other)) != (type(strategy), repr(strategy)):
        plans.append(plan_lib.PlacementPlan(other, *shape))
  return plans


@contextlib.contextmanager
def _needs(package, requirement):
  """Says what to install where a package is missing."""
  try:
    yield
  except ImportError as e:
    if (e.name or "").partition(".")[0] != package.lower():
      raise
    raise _BadInput("--format={}: needs {}: pip install {}".format(
        _FORMAT.value, package, requirement)) from e


def _import_plan_picture():
  with _needs("Matplotlib", "'adanet-distributed[plot]'"):
    from adanet.distributed.plan import picture as plan_picture  # pylint: disable=g-import-not-at-top
  return plan_picture


def _to_json(plans):
  """Returns the JSON of a plan or, with --compare, of the comparison."""
  from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  if _COMPARE.value:
    value = dict(version=plan_lib.JSON_VERSION, **plan_lib.compare(plans))
  else:
    value = plans[0].to_json_dict()
  return json.dumps(value, indent=2, allow_nan=False) + "\n"


def _write_tables(plans, output):
  with _needs("Rich", "rich"):
    from adanet.distributed.plan import table as plan_table  # pylint: disable=g-import-not-at-top
    from rich import console as rich_console  # pylint: disable=g-import-not-at-top
  # A user's strategy may have a name that not every terminal can show.
  output.reconfigure(errors="backslashreplace")
  console = rich_console.Console(file=output)
  if not console.width:  # As COLUMNS=0 says where it is not known.
    console.width = 80
  if _COMPARE.value:
    plan_table.show_comparison(plans, console)
  else:
    plan_table.show(plans[0], console)


def _write(plans, plan_picture, output):
  """Writes what --format says."""
  if plan_picture:
    picture = io.BytesIO()
    plan_picture.write(plans, picture, _FORMAT.value)
    output.buffer.write(picture.getvalue())
  elif _FORMAT.value == "json":
    output.write(_to_json(plans))
  else:
    _write_tables(plans, output)
  output.flush()


def _run(argv):
  """Returns the exit code, if it has planned."""
  _parse_flags(argv)
  output = sys.stdout
  if output is None:
    raise _BadInput("standard output is closed.")
  if _HELP.value:
    output.write(_help())
    output.flush()
    return 0
  if _SUBNETWORKS.value is None:
    raise _BadInput("--subnetworks: expected the number of subnetworks in the "
                    "iteration (--help lists the flags)")
  if _FORMAT.value == "png" and output.isatty():
    raise _BadInput("--format=png: expected standard output to be no terminal: "
                    "add > plan.png")
  plan_picture = None
  if _FORMAT.value in ("svg", "png"):
    plan_picture = _import_plan_picture()
  # What a user's strategy prints is none of what is asked for.
  with contextlib.redirect_stdout(sys.stderr):
    strategy = _make_strategy()
    num_workers, num_ps = _shape()
    _check_num_workers(num_workers)
    plans = _make_plans(strategy, num_workers, num_ps)
    _write(plans, plan_picture, output)
    problems = plans[0].problems() if _STRICT.value else ()
  if _FORMAT.value != "table":  # Tables have them.
    for problem in problems:
      _complain("--strict: " + problem.message)
  return _EXIT_PROBLEM if problems else 0


def _complain(message):
  """Prints one line, and not a long one, whatever is in the message."""
  message = " ".join(
      word if len(word) <= 200 else word[:200] + "..."
      for word in message.split())
  if len(message) > 1000:
    message = message[:1000] + "..."
  if sys.stderr is not None:  # To which print() would prefer stdout.
    try:
      print("adanet-plan: " + message, file=sys.stderr, flush=True)
    except OSError:
      _discard(sys.stderr)  # The exit code says it too.


def _discard(stream):
  """Keeps what could not be written from being tried again at the exit."""
  os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main(argv=None):
  """Runs the program.

  Args:
    argv: list of str, the program and its arguments; None for those of the
      process.

  Returns:
    int, the exit code.
  """
  # A pipe that nobody reads any more ends this as it ends any other command.
  signal.signal(signal.SIGPIPE, signal.SIG_DFL)
  try:
    return _run(sys.argv if argv is None else argv)
  except _BadInput as e:
    _complain(str(e))
  except OSError as e:
    _discard(sys.stdout)
    _complain("standard output: {}.".format(e.strerror or e))
  except KeyboardInterrupt:
    return 128 + signal.SIGINT
  return _EXIT_BAD_INPUT


if __name__ == "__main__":
  sys.exit(main())
