# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records the search, and warns if another search wrote the model_dir."""

from typing import Iterable, Mapping, Optional

from adanet import log as logging
from adanet import waiting
from adanet.core import fingerprint
from adanet.training import recording
from adanet.training import setup as setup_lib


def note(setup: setup_lib.SearchSetup, number: int,
         graphs: Mapping[str, fingerprint.Graph]) -> None:
  """Adds the graphs of new networks, as they answer, to the fingerprint."""
  before = setup.model_dir.fingerprint()
  if before is None or not before.is_of_same_versions(
      fingerprint.of(setup.search, None)):
    return
  new = {name: graph for name, graph in graphs.items()
         if name.startswith(f"t{number}_")}
  noted = before._replace(graphs={**before.graphs, **new})
  if noted != before:
    recording.write_or_warn(setup.model_dir.write_fingerprint, noted)


def _warn(setup, what, differences, remedy):
  if differences:
    logging.warning(
        "Another search trained in model_dir %r, and %s with its weights: %s. "
        "If you did not mean this, use the search of before again%s.",
        setup.model_dir.path, what, "; ".join(differences), remedy)


def warn_of_answer(setup: setup_lib.SearchSetup,
                   graphs: Mapping[str, fingerprint.Graph]) -> None:
  """Warns if networks do not answer as they did when they were trained."""
  before = setup.model_dir.fingerprint()
  if before is not None:
    _warn(setup, "answers", before.graph_differences(
        fingerprint.of(setup.search, None, graphs)), "")


class FingerprintCheck:
  """The search of an iteration, compared with the search before it."""

  def __init__(self, setup: setup_lib.SearchSetup, number: int,
               max_iterations: Optional[int],
               builder_names: Iterable[str] = (),
               graphs: Mapping[str, fingerprint.Graph] = {},
               has_weights: bool = True, resumes: bool = True):
    """Warns if the search before was another one. Writes nothing yet.

    Args:
      builder_names: of the iteration's builders, if they are known.
      graphs: of an `Iteration`.
      has_weights: whether training begins with weights of the search before.
      resumes: whether these are of this iteration, too.
    """
    self._setup = setup
    self._now = fingerprint.of(setup.search, max_iterations, dict(
        {f"t{number}_{name}": {} for name in builder_names}, **graphs))
    before = setup.model_dir.fingerprint() if has_weights else None
    self._before = (before or self._now).at(number, resumes)
    self._warn(self._before.differences(self._now, number))

  def _warn(self, differences):
    _warn(self._setup, "training goes on", differences,
          ", or another model_dir")

  def write(self, timeout_secs: float,
            graphs: Mapping[str, fingerprint.Graph] = {}) -> None:
    """Writes the fingerprint, when the weights are restored.

    Args:
      timeout_secs: float, how long to wait for space on the disk.
      graphs: further ones, of other processes. It warns of them.
    """
    new = {name: graph for name, graph in graphs.items()
           if not self._now.graphs.get(name)}
    self._warn(self._before.graph_differences(
        self._now._replace(graphs=new)))
    self._now = self._now._replace(graphs=dict(self._now.graphs, **new))
    merged = self._before.merged(self._now)
    if merged == self._setup.model_dir.fingerprint():
      return
    waiting.wait_until_space(
        lambda: self._setup.model_dir.write_fingerprint(merged),
        waiting.Wait(timeout_secs, "free some space"),
        self._setup.model_dir.path)
