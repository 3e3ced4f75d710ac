# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-report: the history of a search, from its model_dir.

It prints the candidates of each iteration with their losses and weights, the
winner, and the networks of each task. It can be used while the search goes on,
and needs no TensorFlow.

  adanet-report /tmp/digits

Write pictures too, or a page for a browser or JSON for another program instead
of tables:

  adanet-report /tmp/digits --picture=report.svg --picture=report.png
  adanet-report /tmp/digits --format=html > report.html
  adanet-report /tmp/digits --format=json > report.json

The directory of an EnsembleSearch shows its networks and the ensemble.

Exit codes: 0 for success; 2 if there is no report, with one line on standard
error that says why.
"""

import json
import sys
from typing import Any, Optional, Sequence

from absl import flags
from adanet import ensemble_search
from adanet.console import command
from adanet.history import store

_COMMAND = command.Command("adanet-report", __doc__)
_PICTURE = flags.DEFINE_multi_string(
    "picture", [], "File to draw: .svg, .png or .pdf. May be given again.",
    flag_values=_COMMAND.flags)
_FORMAT = flags.DEFINE_enum(
    "format", "table", ["table", "json", "html"],
    "What to print: tables, JSON, or a page with tables and picture.",
    flag_values=_COMMAND.flags)


def _read(arguments: Sequence[str]) -> Any:
  """Returns the report of the one model_dir: a `History`, or a `SearchHistory`.
  """
  if len(arguments) != 1:
    raise command.BadInput(
        f"{' '.join(arguments) or 'no argument'}: expected one model_dir "
        "(--help says more)")
  if ensemble_search.is_search(arguments[0]):
    return _of_ensemble_search(arguments[0])
  try:
    report = store.Store(arguments[0]).read(warn=_COMMAND.warn)
  except ValueError as e:
    raise command.BadInput(str(e)) from e
  if not report.iterations and not report.tasks:
    raise command.BadInput(
        f"{arguments[0]}: expected a model_dir in which an iteration has "
        "ended.")
  return report


def _of_ensemble_search(path):
  """Returns the `SearchHistory` of a directory of an EnsembleSearch."""
  # Python 3.7 has no EnsembleSearch, and cannot read its modules.
  # pylint: disable-next=g-import-not-at-top
  from adanet.ensemble_search import history
  try:
    report = history.read(path)
  except (LookupError, TypeError, ValueError) as e:
    raise command.BadInput(f"{path}: its files cannot be read: {e}") from e
  if not report.networks:
    raise command.BadInput(
        f"{path}: expected a search of which a network has trained.")
  return report


def _draw(report: Any) -> None:
  """Draws the pictures that the flags ask for."""
  for path in _PICTURE.value:
    try:
      report.picture(path)
    except ValueError as e:
      raise command.BadInput(f"--picture: {e}") from e
    except OSError as e:
      raise command.BadInput(f"--picture={path}: {e.strerror or e}.") from e


def _run(arguments: Sequence[str]) -> int:
  """Prints and draws the formats that the flags ask for."""
  report = _read(arguments)
  _draw(report)
  with command.standard_output() as output:
    if _FORMAT.value == "html":
      output.write(report.html())
    elif _FORMAT.value == "json":
      output.write(json.dumps(
          report.to_json_dict(), indent=2, allow_nan=False) + "\n")
    else:
      # Only tables need Rich, and only pictures need Matplotlib.
      from adanet.console import tables  # pylint: disable=g-import-not-at-top
      report.show(tables.new_console(output))
  return 0


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs the program with `argv`, or the process's; see `Command.main`.
  """
  return _COMMAND.main(_run, argv)


if __name__ == "__main__":
  sys.exit(main())
