# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-report: what a search did, from its model_dir.

It prints the candidates of each iteration with their losses and weights, the
winner, and what each task trained. It can be used while the search goes on, and
needs no TensorFlow.

  adanet-report /tmp/digits

Write pictures too, or JSON for another program instead of tables:

  adanet-report /tmp/digits --picture=report.svg --picture=report.png
  adanet-report /tmp/digits --json > report.json

Exit codes: 0 for success; 2 if there is no report, with one line on standard
error that says why.
"""

import inspect
import json
import os
import signal
import sys
from typing import Any, Optional, Sequence

from absl import flags
from adanet import version
from adanet.history import report as report_lib
from adanet.history import store

# Slow imports are inside functions: only tables need Rich, and only pictures
# need Matplotlib.

_EXIT_BAD_INPUT = 2
# What to install if a package is missing.
_REQUIREMENTS = {
    "matplotlib": "'adanet-distributed[plot]'", "rich": "rich",
    "tensorflow": "'adanet-distributed[tensorflow]'"}

# Not flags.FLAGS, because that has the flags of other modules too.
_FLAGS = flags.FlagValues()
_PICTURE = flags.DEFINE_multi_string(
    "picture", [], "File to draw: .svg, .png or .pdf. May be given again.",
    flag_values=_FLAGS)
_JSON = flags.DEFINE_boolean(
    "json", False, "Print JSON instead of tables.", flag_values=_FLAGS)
_HELP = flags.DEFINE_boolean(
    "help", False, "Print this help.", short_name="h", flag_values=_FLAGS)
_VERSION = flags.DEFINE_boolean(
    "version", False, "Print the version.", flag_values=_FLAGS)


class _BadInput(Exception):
  """There is no report; the message says why."""


def _parse(argv):
  """Sets the flags; returns the other arguments."""
  for name in _FLAGS:  # main() may have run before.
    _FLAGS[name].unparse()
  _FLAGS.set_gnu_getopt(True)  # Flags may follow the folder.
  try:
    return _FLAGS(argv)[1:]
  except flags.Error as e:
    raise _BadInput(f"{e} (--help lists the flags)") from e


def _help():
  # Only the flags; the lines before them name the Python module.
  flags_help = _FLAGS.get_help(include_special_flags=False)
  return "{}\n\nFlags:\n{}\n".format(
      inspect.cleandoc(__doc__), flags_help[flags_help.index("\n  -"):])


def _read(arguments):
  """Returns the report of the one model_dir."""
  if len(arguments) != 1:
    raise _BadInput(f"{' '.join(arguments) or 'no argument'}: expected one "
                    "model_dir (--help says more)")
  try:
    report = store.History(arguments[0]).read(warn=_print_error)
  except ValueError as e:
    raise _BadInput(str(e)) from e
  if not report.iterations and not report.tasks:
    raise _BadInput(
        f"{arguments[0]}: expected a model_dir in which an iteration has "
        "ended.")
  return report


def _write_table(report: report_lib.Report) -> None:
  from adanet.history import table  # pylint: disable=g-import-not-at-top
  from rich import console as rich_console  # pylint: disable=g-import-not-at-top
  output: Any = sys.stdout
  # A builder may have a name that not every terminal can show.
  output.reconfigure(errors="backslashreplace")
  console = rich_console.Console(file=output)
  if not console.width:  # COLUMNS=0 means unknown.
    console.width = 80
  table.show(report, console)


def _run(argv):
  """Prints and draws what the arguments ask for."""
  arguments = _parse(argv)
  if _HELP.value or _VERSION.value:
    sys.stdout.write(_help() if _HELP.value
                     else f"adanet-report {version.VERSION}\n")
    return
  report = _read(arguments)
  for path in _PICTURE.value:
    try:
      report.picture(path)
    except ValueError as e:
      raise _BadInput("--picture: " + str(e)) from e
    except OSError as e:
      raise _BadInput(f"--picture={path}: {e.strerror or e}.") from e
  if _JSON.value:
    sys.stdout.write(json.dumps(
        report.to_json_dict(), indent=2, allow_nan=False) + "\n")
  else:
    _write_table(report)
  sys.stdout.flush()


def _print_error(message):
  """Prints one line of bounded length, whatever is in the message."""
  print("adanet-report: " + " ".join(message.split())[:1000], file=sys.stderr)


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs the program.

  Args:
    argv: sequence of str, the program and its arguments; None for those of the
      process.

  Returns:
    int, the exit code.
  """
  # A closed pipe ends the program silently, as it ends other commands.
  signal.signal(signal.SIGPIPE, signal.SIG_DFL)
  try:
    _run(sys.argv if argv is None else list(argv))
    return 0
  except _BadInput as e:
    _print_error(str(e))
  except ImportError as e:
    package = (e.name or "").partition(".")[0]
    if package not in _REQUIREMENTS:
      raise
    _print_error(f"{package} is not installed: pip install "
                 f"{_REQUIREMENTS[package]}")
  except OSError as e:
    # Keeps Python from writing the rest again when it exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _print_error(f"standard output: {e.strerror or e}.")
  except KeyboardInterrupt:
    return 128 + signal.SIGINT
  return _EXIT_BAD_INPUT


if __name__ == "__main__":
  sys.exit(main())
