# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The common part of the commands: flags, help, and one-line errors.

    _COMMAND = command.Command("adanet-report", __doc__)
    _JSON = flags.DEFINE_boolean(
        "json", False, "Print JSON.", flag_values=_COMMAND.flags)

    def _run(arguments):
      if len(arguments) != 1:
        raise command.BadInput("expected one model_dir (--help says more)")
      with command.standard_output() as output:
        output.write(...)
      return 0

    def main(argv=None):
      return _COMMAND.main(_run, argv)

Exit codes: 2 for an error of the user; 130 after Ctrl-C; else the function's
return value.
"""

import contextlib
import inspect
import os
import re
import signal
import sys
from typing import Callable, Iterator, List, Optional, Sequence, TextIO

from absl import flags
from adanet import messages
from adanet import version
from adanet.console import wording

EXIT_BAD_INPUT = 2

# The package to install if one is missing.
_REQUIREMENTS = {
    "matplotlib": "'adanet-distributed[plot]'", "rich": "rich",
    "tensorflow": "'adanet-distributed[tensorflow]'"}


class BadInput(Exception):
  """An error of the user, with a one-line message."""


class _IntegerParser(flags.IntegerParser):
  """As absl's parser, with the expected value in errors."""

  def parse(self, argument):
    try:
      return super().parse(argument)
    except ValueError:
      is_integer = re.match(r"\s*[-+]?\d+\s*$", argument)
      raise ValueError("expected {}{}.".format(
          self.syntactic_help, "" if is_integer else ", got a non-integer"
      )) from None


class Command:
  """A program for a terminal.

  Attributes:
    flags: an `absl.flags.FlagValues` with --help and --version. Not
      `flags.FLAGS`, which has the flags of all modules.
  """

  def __init__(self, name: str, manual: str, takes_program: bool = False):
    """Defines --help and --version.

    Args:
      name: str, the command as the user types it, such as "adanet-plan".
      takes_program: bool, whether the arguments are a program and the
        program's flags. Then the command's flags end before the program.
    """
    self._name = name
    self._manual = manual
    self._takes_program = takes_program
    self.flags = flags.FlagValues()
    flags.DEFINE_boolean(
        "help", False, "Print this help.", short_name="h",
        flag_values=self.flags)
    flags.DEFINE_boolean(
        "version", False, "Print the version.", flag_values=self.flags)

  def define_integer(
      self, name: str, default: Optional[int], description: str,
      at_least: Optional[int] = None, at_most: Optional[int] = None
  ) -> flags.FlagHolder:
    """Defines an integer flag with an error that lists the expected values."""
    return flags.DEFINE(
        _IntegerParser(at_least, at_most), name, default, description,
        flag_values=self.flags)

  def is_given(self, *names: str) -> bool:
    """Returns whether any of several flags is on the command line."""
    return any(self.flags[name].present for name in names)

  def warn(self, message: str) -> None:
    """Prints a line on standard error, unless closed."""
    # Whatever sys.stderr is now: a live display shows lines above itself.
    if sys.stderr is not None:  # With None, print() would write to stdout.
      try:
        print(f"{self._name}: {message}", file=sys.stderr, flush=True)
      except OSError:
        pass  # The exit code still reports an error.

  def main(self, run: Callable[[List[str]], int],
           argv: Optional[Sequence[str]] = None) -> int:
    """Runs the command, prints errors of the user; returns the exit code.

    Args:
      run: function from the arguments without flags to the exit code. Called
        after the flags have been set, but not for --help and --version.
    """
    if not self._takes_program:
      # A closed pipe ends the program silently, as it ends other commands.
      signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
      arguments = self._parse(list(sys.argv if argv is None else argv))
      if not self._wants_info():
        return run(arguments)
      with standard_output() as output:
        output.write(self._info())
      return 0
    except BadInput as e:
      self.warn(_one_line(str(e)))
    except ImportError as e:
      package = (e.name or "").partition(".")[0]
      if package not in _REQUIREMENTS:
        raise
      self.warn(f"{package} is not installed: pip install "
                f"{_REQUIREMENTS[package]}")
    except KeyboardInterrupt:
      return 128 + signal.SIGINT
    try:
      if sys.stderr is not None:
        sys.stderr.flush()
    except OSError:
      _discard(sys.stderr)
    return EXIT_BAD_INPUT

  def _parse(self, argv):
    """Sets the flags; returns the other arguments."""
    for name in self.flags:  # main() may have run before.
      self.flags[name].unparse()
    info_flags = self._without_modules("help", "version")
    for flag_values in (info_flags, self.flags):
      flag_values.set_gnu_getopt(not self._takes_program)
    try:
      info_flags(argv, known_only=True)
      if self._wants_info():  # Even if other flags are wrong.
        return []
      return self.flags(argv)[1:]
    except flags.IllegalFlagValueError as e:
      message = re.sub(r"^flag ", "", str(e))
      # absl formats this message as a tuple.
      message = re.sub(r"\('Non-boolean.*", "expected true or false.", message)
      raise BadInput(message) from e
    except flags.Error as e:
      raise BadInput(f"{e} (--help lists the flags)") from e

  def _without_modules(self, *names):
    """Returns some flags without the defining modules."""
    values = flags.FlagValues()
    for name in names:
      values[name] = self.flags[name]
    return values

  def _wants_info(self):
    return self.flags["help"].value or self.flags["version"].value

  def _info(self):
    """Returns the text for --help or --version."""
    if self.flags["help"].value:
      names = {self.flags[name].name for name in self.flags}
      flags_help = self._without_modules(*names).get_help(
          prefix="  ", include_special_flags=False)
      return f"{inspect.cleandoc(self._manual)}\n\nFlags:\n\n{flags_help}\n"
    return f"{self._name} {version.VERSION}\n"


class ClusterFlags:
  """--workers, --ps and --evaluator: tasks of a cluster, as TF_CONFIG counts.

  They mean the same in every command.
  """

  def __init__(self, command: Command, max_workers: int, max_ps: int):
    """Defines the flags."""
    self._command = command
    self.workers = command.define_integer(
        "workers", 0, "Number of workers beside the chief.", 0, max_workers)
    self.ps = command.define_integer(
        "ps", 0, "Number of parameter servers. They hold the variables that "
        "several tasks share.", 0, max_ps)
    self.evaluator = flags.DEFINE_boolean(
        "evaluator", False, "Whether there is an evaluator.",
        flag_values=command.flags)

  @property
  def are_given(self) -> bool:
    """Whether the command line describes a cluster."""
    return self._command.is_given("workers", "ps", "evaluator")

  def check_servers(self) -> None:
    """Raises `BadInput` if there are workers but no parameter server."""
    if self.workers.value and not self.ps.value:
      raise BadInput(
          f"--ps=0: expected at least 1 with --workers={self.workers.value}, "
          "to hold the variables that the tasks share.")


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
  """Yields standard output, and flushes it at the end.

  Raises:
    BadInput: standard output is closed, or cannot be written.
  """
  output = sys.stdout
  if output is None:
    raise BadInput("standard output is closed.")
  try:
    yield output
    output.flush()
  except OSError as e:
    _discard(output)
    raise BadInput(f"standard output: {e.strerror or e}.") from e


def _discard(stream):
  """Keeps Python from writing the rest of a stream again at the exit."""
  os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _one_line(message):
  """Returns a message of bounded length as a line."""
  return messages.shorten(" ".join(
      map(messages.shorten, wording.printable(message).split())), 1000)
