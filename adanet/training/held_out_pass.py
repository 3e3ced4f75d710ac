# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs trained networks over the evaluator's data, once.

An iteration runs only new networks if the logits of the previous ensemble's
members are recorded; see `recorded_logits`.
"""

import hashlib
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import evaluator as evaluator_lib
from adanet.core import graph_parts
from adanet.core import iteration as iteration_lib
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.training import merge_checkpoints
from adanet.training import recorded_logits as logits_lib
from adanet.training import sessions
from adanet.training import setup as setup_lib
import numpy as np

_Recorded = Tuple[iteration_lib.Iteration, logits_lib.RecordedLogits]


def tensors_of(task: subnetworks.LearningTask
              ) -> Dict[logits_lib.InputPath, Any]:
  """Returns all tensors of a batch, always in the same order."""
  def leaves(value, path):
    if isinstance(value, dict):
      for key in sorted(value, key=str):
        yield from leaves(value[key], path + (key,))
    elif value is not None:
      yield path, value

  return dict(leaves({"features": task.features, "labels": task.labels}, ()))


def _parts(tensor):
  """Returns the dense tensors of a tensor, such as of a sparse tensor."""
  return tf_compat.v1.nest.flatten(tensor, expand_composites=True)


def components(task: subnetworks.LearningTask) -> List[Any]:
  """Returns the dense tensors of all tensors of a batch."""
  return [part for tensor in tensors_of(task).values()
          for part in _parts(tensor)]


def loss_inputs(task: subnetworks.LearningTask,
                logits: Any) -> Dict[logits_lib.InputPath, Any]:
  """Returns the tensors of a batch from which the head computes the loss.

  The tensors are the labels, and features with weights, under any name.

  Args:
    logits: of any network, in the default graph.

  Raises:
    ValueError: a tensor is not dense.
  """
  loss = task._replace(mode="train", applies_head=True).apply_head(
      logits, "the loss of fitted ensembles").loss
  # An input that only the network reads is no input of the loss.
  of_logits = {tensor.op.name for tensor in logits_lib.by_head(logits).values()}
  before = scopes.ancestors([loss.op], lambda op: (
      [] if op.name in of_logits else
      [*(tensor.op for tensor in op.inputs), *op.control_inputs]))
  names = {tensor.name for op in before if op.name not in of_logits
           for tensor in op.inputs}
  inputs = {path: tensor for path, tensor in tensors_of(task).items()
            if not names.isdisjoint(part.name for part in _parts(tensor))}
  for path, tensor in inputs.items():
    if len(_parts(tensor)) > 1:
      name = path[0] + "".join(f"[{key!r}]" for key in path[1:])
      raise ValueError(
          f"evaluator.input_fn: {name} is a {type(tensor).__name__}: expected "
          "a dense tensor with fitted ensembles. Make it dense in input_fn, for "
          "example with tf.sparse.to_indicator")
  return inputs


def digest(values: Iterable[Any]) -> str:
  """Returns the digest of some arrays of a batch."""
  hashed = hashlib.sha256()
  for value in map(np.asarray, values):
    hashed.update(f"{value.dtype.str} {value.shape} ".encode())
    # An array of strings has only pointers to them.
    hashed.update(repr(value.tolist()).encode() if value.dtype == object
                  else np.ascontiguousarray(value).tobytes())
  return hashed.hexdigest()


def _networks(iteration, with_previous, with_ensemble):
  """Returns the logits, and the complexity, of each recorded network."""
  previous = iteration.previous if with_previous else None
  outputs = {}
  if previous is not None and with_ensemble:
    outputs[logits_lib.PREVIOUS_ENSEMBLE] = previous.ensemble.logits, getattr(
        previous.ensemble, "complexity_regularization", None)
  networks = list(zip(previous.architecture.subnetworks,
                      previous.subnetworks)) if previous else []
  networks += [((iteration.number, spec.builder.name), spec.subnetwork)
               for spec in iteration.subnetworks]
  for name, network in networks:
    outputs[name] = network.logits, network.complexity
  return outputs


def variable_sums(networks: Iterable[logits_lib.Network], checkpoint: str
                 ) -> Dict[logits_lib.Network, Dict[str, int]]:
  """Returns the checksums of networks' variables; see `RecordedLogits`.

  Args:
    networks: the names of the networks in the default graph. The graph is not
      for training, so that there are no optimizers' variables.
    checkpoint: str, the prefix of the checkpoint with the values.
  """
  sums = checkpoints.sums(checkpoint)
  names = sessions.saved_names()
  network_sums: Dict[logits_lib.Network, Dict[str, int]] = {}
  for network in networks:
    own = [name for name in names
           if name.startswith(merge_checkpoints.network_scope(*network))]
    # A variable that is in parts has none.
    if all(name in sums for name in own):
      network_sums[network] = {name: sums[name] for name in own}
  return network_sums


def record(setup: setup_lib.SearchSetup, number: int, checkpoint: Optional[str],
           is_first: bool = True,
           watched: Callable[[Any], Any] = lambda session: session
          ) -> _Recorded:
  """Records the new networks of an iteration, or of a part of an iteration.

  If an ensembler builds on the previous ensemble, the first part also records
  the logits of the previous ensemble and of the ensemble's networks.

  Args:
    setup: `SearchSetup`, with an evaluator.
    checkpoint: str, the prefix of the checkpoint with the values; None for
      initial values.
    is_first: whether this is the first part.
    watched: function from the session to the session that is used.

  Returns:
    The `Iteration` of the graph that was built, and `RecordedLogits`.

  Raises:
    EmptyInputError: the evaluator's input has no batch.
    ValueError: an input of the loss is not dense.
  """
  return _run(setup, number, checkpoint,
              is_first and not logits_lib.is_kept(setup.search), watched)


def _run(setup, number, checkpoint, with_previous,
         watched=lambda session: session):
  """Records in one pass over the data; see `record`."""
  evaluator = setup.rules.evaluator
  is_kept = logits_lib.is_kept(setup.search)
  setup = setup._replace(applies_head=False, with_members=with_previous)
  with setup.graph(evaluator.input_fn, "eval", number) as built:
    networks = _networks(
        built.iteration, with_previous, with_ensemble=not is_kept)
    fetches = {
        "logits": {name: logits_lib.by_head(logits)
                   for name, (logits, _) in networks.items()},
        "complexities": {
            name: tf_compat.v1.cast(0. if complexity is None else complexity,
                                    tf_compat.v1.float32)
            for name, (_, complexity) in networks.items()},
        "inputs": loss_inputs(
            built.task, next(iter(networks.values()))[0]),
        "features": components(built.task) if is_kept else []}
    sums = variable_sums(networks, checkpoint) if is_kept and checkpoint else {}

    def run(session):
      batch = session.run(fetches)
      # The values would take memory for all batches at once.
      return dict(batch, features=is_kept and digest(
          batch["features"]) or "")

    with setup.session(built, checkpoint) as (session, _):
      session = watched(session)
      batches = list(evaluator_lib.batches(
          session, lambda: run(session), getattr(evaluator, "steps", None),
          "evaluator.input_fn"))
  return built.iteration, _recorded(
      batches, sums=sums, graphs=built.iteration.graphs)


def _recorded(batches, **of_graph):
  """Returns `RecordedLogits` of fetched values, which loses the logits."""
  first = batches[0]
  recorded_batches = tuple(
      logits_lib.RecordedBatch(
          len(next(iter(next(iter(batch["logits"].values())).values()))),
          digest(batch["inputs"].values()), batch["features"])
      for batch in batches)

  def take_logits(name, head):
    # Only one array is in memory twice.
    array = np.concatenate([
        batch["logits"][name].pop(head) for batch in batches]).astype(
            np.float32, copy=False)
    array.setflags(write=False)  # As one that is mapped from a file.
    return array

  members = {
      name: ensemble_lib.Member(logits_lib.of_heads({
          head: take_logits(name, head)
          for head in list(first["logits"][name])}), float(complexity))
      for name, complexity in first["complexities"].items()}
  return logits_lib.RecordedLogits(
      members, {
          path: np.concatenate([batch["inputs"][path] for batch in batches])
          for path in first["inputs"]}, recorded_batches, **of_graph)


def completed(setup: setup_lib.SearchSetup, number: int,
              checkpoint: Optional[str],
              logits: logits_lib.RecordedLogits) -> logits_lib.RecordedLogits:
  """Adds the missing members of the previous ensemble.

  Members that the model_dir has recorded on the same data are read. The other
  members run on the data again.

  Args:
    logits: `RecordedLogits` from `record`, of all parts.

  Raises:
    ValueError: the logits were recorded on other data.
  """
  latest = graph_parts.latest(
      setup.history(number), [e.name for e in setup.search.ensemblers
                              if iteration_lib.is_fitted(e)])
  members = latest.architecture.subnetworks if latest else ()
  if all(name in logits.members for name in members):
    return logits
  known = logits_lib.read_kept(setup.model_dir.path, members, checkpoint)
  if known is not None:
    if known.batches == logits.batches:
      return logits_lib.merged([known, logits])
    logging.info(
        "Iteration %d: evaluator.input_fn gives other data than in the "
        "iteration before, so the networks of earlier iterations are run on "
        "it again.", number)
  _, before = _run(setup._replace(part=()), number, checkpoint, True)
  return logits_lib.merged([before, logits])


def recorded(setup: setup_lib.SearchSetup, number: int,
             checkpoint: Optional[str]) -> _Recorded:
  """Records all networks of an iteration; see `record` and `completed`."""
  iteration, logits = record(setup, number, checkpoint)
  return iteration, completed(setup, number, checkpoint, logits)
