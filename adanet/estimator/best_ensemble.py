# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The best ensemble of a checkpoint, in graphs and in sessions."""

import contextlib
from typing import Any, Iterator, Optional, Tuple

from adanet.core import ensembles
from adanet.core import iteration as iteration_lib
from adanet.engines import local
from adanet.search import search_files
from adanet.training import candidates as candidates_lib
from adanet.training import fingerprint_check
from adanet.training import fitting
from adanet.training import sessions
from adanet.training import setup as setup_lib


class BestEnsemble:
  """The best ensemble of a checkpoint.

  Attributes:
    setup: `SearchSetup`, which builds the winner alone if that is known.
    number: int, the iteration of the checkpoint.
    checkpoint: str, its prefix; None for initial values.
  """

  def __init__(self, setup: setup_lib.SearchSetup,
               answering: search_files.AnsweringWinner,
               checkpoint: Optional[str]):
    """Finds out who has won, if that is known.

    Args:
      setup: `SearchSetup`.
      answering: `AnsweringWinner` of the search.
      checkpoint: str, the prefix; None for initial values.
    """
    self._answering = answering
    self.checkpoint = checkpoint
    self.number = setup.model_dir.current_iteration(checkpoint)
    self._winner = answering.decided(
        local.LocalEngine(setup), self.number, checkpoint)
    self.setup = setup if self._winner is None else setup._replace(
        only=self._winner.architecture)

  def spec(self, iteration: iteration_lib.Iteration) -> ensembles.EnsembleSpec:
    """Returns the `EnsembleSpec` that answers: the best so far.

    Args:
      iteration: `Iteration` that `setup` has built.
    """
    if self._winner is not None:
      return iteration.candidates[0]
    name = self._answering.best(
        local.LocalEngine(self.setup), self.checkpoint,
        lambda: candidates_lib.of_iteration(iteration, self.checkpoint))
    return next(c for c in iteration.candidates if c.name == name)

  def open_session(self, built: setup_lib.BuiltGraph) -> sessions.OpenSession:
    """Opens a session on a graph of `setup`; see `SearchSetup.open_session`."""
    fingerprint_check.warn_of_answer(self.setup, built.iteration.graphs)
    winner, new = self._winner, None
    if winner is not None and winner.variables:  # They are not saved yet.
      new = f"adanet/iteration_{self.number}/ensemble_{winner.name}/"
    opened = self.setup.open_session(built, self.checkpoint, new)
    if winner is not None and winner.variables:
      with opened.entered() as session:
        fitting.set_weights(session, [(
            built.iteration.candidates[0].ensemble,
            winner.fits[winner.name].members.values())])
    return opened

  @contextlib.contextmanager
  def session(self, built: setup_lib.BuiltGraph) -> Iterator[Tuple[Any, Any]]:
    """Opens a session on a graph of `setup`; see `SearchSetup.session`."""
    opened = self.open_session(built)
    with contextlib.closing(opened), opened.entered() as session:
      yield session, opened.coordinator
