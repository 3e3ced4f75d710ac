# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the evaluator's input again and again while an iteration trains."""

from typing import Any, Dict, Iterator, List, Mapping, Optional

from adanet.core import evaluation
from adanet.training import recorded_logits as logits_lib
from adanet.training import sessions
import numpy as np

# The most bytes of an input that stay in memory. A larger one is read again.
_MAX_KEPT_BYTES = 2**30


class HeldOutInput:
  """The batches of the evaluator's input, which are the same each time.

  Attributes:
    digests: the digest of each batch, when all were read once; see
      `RecordedBatch`.
    features: a digest of all tensors of each batch, then.
    inputs: all that the head's loss needs of them; see `RecordedLogits`.
  """

  def __init__(self, evaluator: Any, tensors: List[Any],
               loss_inputs: Mapping[logits_lib.InputPath, Any],
               start: sessions.Initializers, session_config: Any):
    """Reads nothing yet.

    Args:
      evaluator: `Evaluator`, which says how many batches there are.
      tensors: the tensors of a batch, in the default graph.
      loss_inputs: the ones from which the head computes its loss.
      start: `Initializers` of the input alone.
      session_config: `ConfigProto`, or None.
    """
    self._evaluator = evaluator
    self._graph = tensors[0].graph
    self._fetches = (tensors, dict(loss_inputs))
    self._start = start
    self._session_config = session_config
    self._kept: Optional[List[List[np.ndarray]]] = None
    self.digests: Optional[List[str]] = None
    self.features: List[str] = []
    self.inputs: Dict[logits_lib.InputPath, Any] = {}

  def batches(self) -> Iterator[List[np.ndarray]]:
    """Yields the values of the tensors of each batch.

    Raises:
      EmptyInputError: there is no batch.
      ValueError: what the loss needs of the batches is not the same as before.
    """
    if self._kept is not None:
      yield from self._kept
      return
    kept: Optional[List[List[np.ndarray]]] = []
    size = 0
    inputs: List[Dict[logits_lib.InputPath, Any]] = []
    digests: List[str] = []
    features: List[str] = []
    for batch, of_loss in self._read():
      digests.append(logits_lib.digest(of_loss.values()))
      self._check(digests, is_last=False)
      if self.digests is None:
        inputs.append(of_loss)
        features.append(logits_lib.digest(batch))
      size += sum(array.nbytes for array in batch)
      if kept is not None:
        kept = kept + [batch] if size <= _MAX_KEPT_BYTES else None
      yield batch
    self._check(digests, is_last=True)
    if self.digests is None:
      self.digests, self.features = digests, features
      self.inputs = {
          path: logits_lib.concatenated([one[path] for one in inputs])
          for path in inputs[0]}
    self._kept = kept

  def _read(self):
    """Yields the values of each batch, from the input's beginning."""
    # A session of its own: only that begins an input of any kind again.
    with self._graph.as_default(), sessions.local_session(
        self._session_config) as session, self._start.started(session):
      yield from evaluation.batches(
          session, session.make_callable(self._fetches),
          getattr(self._evaluator, "steps", None), "evaluator.input_fn")

  def _check(self, digests, is_last):
    """Checks that the batches so far, or all, are the ones of before."""
    before = self.digests
    if before is None:
      return
    number = len(digests) - 1
    if number >= len(before) or digests[number] != before[number]:
      raise logits_lib.other_data_error("a check of networks", number)
    if is_last and len(digests) < len(before):
      raise logits_lib.other_data_error("a check of networks", len(digests))
