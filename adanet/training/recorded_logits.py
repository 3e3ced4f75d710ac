# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The logits of trained networks on the evaluator's data, in files.

A process that has trained networks records them, in one pass over the data. The
process that leads the search merges all records, and fits ensembles to them.

    <folder>/
      library           a pickle of `RecordedLogits`, with numbers for arrays
      0.npy, 1.npy ...  the logits, float32
"""

import contextlib
import hashlib
import os
import pickle
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional
from typing import Sequence, Set, Tuple

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.core import evaluation
from adanet.core import iteration as iteration_lib
from adanet.core import subnetworks
from adanet.tf_compat import files
from adanet.training import logits_library
from adanet.training import logits_values
from adanet.training import model as model_lib
import numpy as np

Network = logits_values.Network
InputPath = logits_values.InputPath
RecordedBatch = logits_values.RecordedBatch
RecordedLogits = logits_values.RecordedLogits
merged = logits_values.merged
other_data_error = logits_values.other_data_error

# The part of a batch that the loss needs.


def _leaves(value, path=()):
  """Yields (path, tensor) of all tensors in dicts of dicts."""
  if isinstance(value, dict):
    for key in sorted(value, key=str):
      yield from _leaves(value[key], path + (key,))
  elif value is not None:
    yield path, value


def loss_inputs(task: subnetworks.LearningTask,
                logits: Any) -> Dict[InputPath, Any]:
  """Returns the tensors of a batch from which the head computes its loss.

  These are the labels, and features with weights, whatever their names are.

  Args:
    task: `LearningTask`.
    logits: of any network, in the default graph.
  """
  loss = task._replace(mode="train", applies_head=True).apply_head(
      logits, "the loss of fitted ensembles").loss
  # An input that only the network reads is no input of the loss.
  seen = {tensor.op.name for _, tensor in _leaves(logits)}
  names: Set[str] = set()
  waiting = [loss.op]
  while waiting:
    op = waiting.pop()
    if op.name not in seen:
      seen.add(op.name)
      names.update(tensor.name for tensor in op.inputs)
      waiting.extend([tensor.op for tensor in op.inputs])
      waiting.extend(op.control_inputs)
  return {path: tensor for path, tensor in tensors_of(task).items()
          if not names.isdisjoint(part.name for part in parts(tensor))}


def tensors_of(task: subnetworks.LearningTask) -> Dict[InputPath, Any]:
  """Returns all tensors of a batch."""
  return dict(_leaves({"features": task.features, "labels": task.labels}))


def parts(tensor: Any) -> List[Any]:
  """Returns the parts of a tensor: more than itself if it is sparse.

  Args:
    tensor: a tensor or a `SparseTensor`, or the value of one.
  """
  if isinstance(tensor, (tf_compat.v1.SparseTensor,
                         tf_compat.v1.SparseTensorValue)):
    return [tensor.indices, tensor.values, tensor.dense_shape]
  return [tensor]


def digest(values: Iterable[Any]) -> str:
  """Returns the digest of some values of a batch."""
  hashed = hashlib.sha256()
  for value in values:
    for part in map(np.asarray, parts(value)):
      hashed.update(f"{part.dtype.str} {part.shape} ".encode())
      # An array of strings has only pointers to them.
      hashed.update(repr(part.tolist()).encode() if part.dtype == object
                   else np.ascontiguousarray(part).tobytes())
  return hashed.hexdigest()


def concatenated(values: Sequence[Any]) -> Any:
  """Returns a value of all batches as one."""
  sparse = tf_compat.v1.SparseTensorValue
  if not isinstance(values[0], sparse):
    return np.concatenate(values)
  shapes = np.array([value.dense_shape for value in values])
  rows = np.cumsum(shapes[:, 0]) - shapes[:, 0]
  indices = [value.indices.copy() for value in values]
  for some, row in zip(indices, rows):
    some[:, 0] += row
  return sparse(
      np.concatenate(indices),
      np.concatenate([value.values for value in values]),
      np.concatenate([shapes[:, :1].sum(axis=0), shapes[:, 1:].max(axis=0)]))


# Recording.


def network_fetches(network: Any) -> Dict[str, Any]:
  """Returns the tensors of a `Subnetwork` that are recorded; see `member`."""
  complexity = network.complexity
  return {"logits": dict(_leaves(network.logits)),
          "complexity": tf_compat.v1.cast(
              0. if complexity is None else complexity, tf_compat.v1.float32)}


def num_examples(fetched: Dict[str, Any]) -> int:
  """Returns how many examples a batch has.

  Args:
    fetched: the values of `network_fetches` on it.
  """
  return len(next(iter(fetched["logits"].values())))


def member(batches: Sequence[Dict[str, Any]]) -> ensemble_lib.Member:
  """Returns the `Member` of a network.

  Args:
    batches: the values of its `network_fetches` on each batch.
  """
  logits = {
      path: np.concatenate([batch["logits"][path] for batch in batches]).astype(
          np.float32, copy=False) for path in batches[0]["logits"]}
  return ensemble_lib.Member(
      _of_heads(logits), float(batches[0]["complexity"]))


def _of_heads(logits):
  """Returns an array, or a dict of some by heads, of one from paths."""
  if list(logits) == [()]:
    return logits[()]
  return {head: array for (head,), array in logits.items()}


def _networks(iteration, with_previous, with_ensemble):
  """Returns the logits, and the complexity, of all that is recorded.

  The name of the previous ensemble is None.
  """
  previous = iteration.previous if with_previous else None
  logits, complexities = {}, {}
  if previous is not None and with_ensemble:
    logits[None] = previous.ensemble.logits
    complexities[None] = getattr(
        previous.ensemble, "complexity_regularization", None)
  networks = list(zip(previous.architecture.subnetworks,
                      previous.subnetworks)) if previous else []
  networks += [((iteration.number, spec.builder.name), spec.subnetwork)
               for spec in iteration.subnetworks]
  for name, network in networks:
    logits[name], complexities[name] = network.logits, network.complexity
  return logits, {
      name: tf_compat.v1.cast(0. if complexity is None else complexity,
                              tf_compat.v1.float32)
      for name, complexity in complexities.items()}


def record(model: model_lib.Model, number: int, checkpoint: Optional[str],
           folder: str, with_previous: bool = True,
           watched: Callable[[Any], Any] = lambda session: session
          ) -> iteration_lib.Iteration:
  """Records the networks of an iteration, or of a part of it.

  The networks of the previous ensemble are left out where the model_dir has
  their logits; see `completed`.

  Args:
    model: `Model`, with an evaluator.
    number: int, the iteration's.
    checkpoint: str, the prefix of the checkpoint that has their values; None
      for the initial ones.
    folder: str, where to write. It is made.
    with_previous: whether to record the previous ensemble and its networks,
      too.
    watched: function from the session to the one that is used.

  Returns:
    The `Iteration` of the graph that it has built for that.

  Raises:
    EmptyInputError: the evaluator's input has no batch.
  """
  known = logits_library.of_previous(
      model, number, checkpoint) if with_previous else None
  return _recorded(model, number, checkpoint, folder,
                   with_previous and known is None, watched)


def _recorded(model, number, checkpoint, folder, with_previous, watched):
  """Records in one pass over the data; returns the `Iteration`."""
  evaluator = model.rules.evaluator
  is_kept = logits_library.is_used(model.search)
  model = model._replace(applies_head=False, with_members=with_previous)
  with model.graph(evaluator.input_fn, "eval", number) as built:
    logits, complexities = _networks(
        built.iteration, with_previous, with_ensemble=not is_kept)
    fetches = {
        "logits": {name: dict(_leaves(tensors))
                   for name, tensors in logits.items()},
        "inputs": loss_inputs(built.task, next(iter(logits.values()))),
        "complexities": complexities,
        "features": components(built.task) if is_kept else []}
    variables = logits_library.variables_of(logits)

    def run(session):
      batch = session.run(fetches)
      # The values would take memory for all batches at once.
      return dict(batch, features=digest(batch["features"]))

    with model.session(built, checkpoint) as (session, _):
      session = watched(session)
      batches = list(evaluation.batches(
          session, lambda: run(session), getattr(evaluator, "steps", None),
          "evaluator.input_fn"))
  _write(batches, folder, is_kept, variables=variables,
         graphs=built.iteration.graphs)
  return built.iteration


def components(task: subnetworks.LearningTask) -> List[Any]:
  """Returns all dense tensors that the tensors of a batch consist of."""
  return [tensor for one in tensors_of(task).values()
          for tensor in tf_compat.v1.nest.flatten(one, expand_composites=True)]


def _write(batches, folder, with_features, **of_graph):
  """Writes the fetched values of all batches; takes the logits from them."""
  first = batches[0]
  sizes = [len(next(iter(next(iter(batch["logits"].values())).values())))
           for batch in batches]
  members = {}
  num_files = 0
  for name, complexity in first["complexities"].items():
    numbers = {}
    for path in list(first["logits"][name]):
      # Only one array is in memory twice.
      _write_number(folder, num_files, np.concatenate(
          [batch["logits"][name].pop(path) for batch in batches]))
      numbers[path] = num_files
      num_files += 1
    members[name] = ensemble_lib.Member(numbers, float(complexity))
  recording = RecordedLogits(
      members, members.pop(None, None),
      {path: concatenated([batch["inputs"][path] for batch in batches])
       for path in first["inputs"]},
      tuple(RecordedBatch(size, digest(batch["inputs"].values()))
            for size, batch in zip(sizes, batches)),
      tuple(batch["features"] for batch in batches) if with_features else (),
      **of_graph)
  _write_library(recording, folder)


def write(recording: RecordedLogits, folder: str) -> None:
  """Writes logits that are in memory, as `record` does.

  Args:
    recording: `RecordedLogits` without a previous ensemble.
    folder: str, where to write. It is made.
  """
  members = {}
  arrays: List[Any] = []
  for name, one in recording.members.items():
    leaves = dict(_leaves(one.logits))
    members[name] = one._replace(logits={
        path: len(arrays) + i for i, path in enumerate(leaves)})
    arrays += leaves.values()
  for number, array in enumerate(arrays):
    _write_number(folder, number, array)
  _write_library(recording._replace(members=members), folder)


def _write_number(folder, number, array):
  logits_values.write_array(os.path.join(folder, f"{number}.npy"), array)


def _write_library(recording, folder):
  files.write_bytes(os.path.join(folder, "library"), pickle.dumps(recording))


# Reading.


def read(folder: str) -> RecordedLogits:
  """Returns the `RecordedLogits` that `record` wrote in a folder.

  Raises:
    tf.errors.NotFoundError: it has not ended.
  """
  def with_arrays(one):
    arrays = {path: logits_values.mapped(os.path.join(folder, f"{number}.npy"))
              for path, number in one.logits.items()}
    return one._replace(logits=_of_heads(arrays))

  with tf_compat.v1.io.gfile.GFile(
      os.path.join(folder, "library"), "rb") as f:
    recording = pickle.loads(f.read())
  return recording._replace(
      members={name: with_arrays(one)
               for name, one in recording.members.items()},
      previous=recording.previous and with_arrays(recording.previous))


@contextlib.contextmanager
def recorded(model: model_lib.Model, number: int, checkpoint: Optional[str]
            ) -> Iterator[Tuple[iteration_lib.Iteration, RecordedLogits]]:
  """Records the networks of an iteration in a temporary folder.

  It has all of them; see `completed`.

  Args:
    model: see `record`.
    number: see `record`.
    checkpoint: see `record`.

  Yields:
    The `Iteration` of the graph that was built, and `RecordedLogits`.
  """
  with tempfile.TemporaryDirectory() as folder:
    iteration = record(model, number, checkpoint, folder)
    with completed(model, number, checkpoint, read(folder)) as logits:
      yield iteration, logits


@contextlib.contextmanager
def completed(model: model_lib.Model, number: int, checkpoint: Optional[str],
              logits: RecordedLogits) -> Iterator[RecordedLogits]:
  """Adds the members of the previous ensemble, if they are not there.

  They are taken from the model_dir, if it has them on the same data. If not,
  they are run on the data again.

  Args:
    model: see `record`.
    number: see `record`.
    checkpoint: see `record`.
    logits: `RecordedLogits` from `record`, of all parts.

  Yields:
    `RecordedLogits` of all networks.

  Raises:
    ValueError: they were recorded on other data.
  """
  missing = logits_library.missing(model, number, logits)
  if not missing:
    yield logits
    return
  known = logits_library.of_previous(model, number, checkpoint)
  if known is not None:
    if (known.batches, known.features) == (logits.batches, logits.features):
      yield merged([known, logits])
      return
    logging.info(
        "Iteration %d: evaluator.input_fn gives other data than in the "
        "iteration before, so the networks of earlier iterations are run on "
        "it again.", number)
  with tempfile.TemporaryDirectory() as folder:
    _recorded(model._replace(part=()), number, checkpoint, folder, True,
              lambda session: session)
    yield merged([read(folder), logits])
