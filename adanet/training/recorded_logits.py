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
import io
import os
import pickle
import tempfile
from typing import (Any, Callable, Dict, Iterable, Iterator, List, NamedTuple,
                    Optional, Sequence, Set, Tuple)

from adanet import ensemble as ensemble_lib
from adanet import tf_compat
from adanet.core import evaluation
from adanet.core import iteration as iteration_lib
from adanet.core import subnetworks
from adanet.tf_compat import files
from adanet.training import model as model_lib
import numpy as np

Network = Tuple[int, str]
"""The name of a network: its iteration, and its builder's name."""

InputPath = Tuple[Any, ...]
"""Where a tensor of a batch is: ("labels",), or ("features", "weight")."""


class RecordedBatch(NamedTuple):
  """A batch of the evaluator's data.

  Attributes:
    size: int, the number of its examples.
    digest: str, of the values that the head's loss needs of them.
  """
  size: int
  digest: str


class RecordedLogits(NamedTuple):
  """The logits of some networks, on the same examples in the same order.

  Attributes:
    members: dict from the name of each network to its `Member`, the
      previous ensemble's first.
    previous: `Member` with the logits of the previous ensemble, and its
      complexity regularization as the complexity; None without one.
    inputs: dict from a path to an array of shape [n, ...], or to a
      `SparseTensorValue`: the arguments of the head's loss beside logits.
    batches: tuple of `RecordedBatch`.
  """
  members: Dict[Network, ensemble_lib.Member]
  previous: Optional[ensemble_lib.Member]
  inputs: Dict[InputPath, Any]
  batches: Tuple[RecordedBatch, ...]


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
  seen: Set[str] = set()
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


def _networks(iteration, with_previous):
  """Returns the logits, and the complexity, of all that is recorded.

  The name of the previous ensemble is None.
  """
  previous = iteration.previous if with_previous else None
  logits, complexities = {}, {}
  if previous is not None:
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
  evaluator = model.rules.evaluator
  model = model._replace(applies_head=False)
  with model.graph(evaluator.input_fn, "eval", number) as built:
    logits, complexities = _networks(built.iteration, with_previous)
    fetches = {
        "logits": {name: dict(_leaves(tensors))
                   for name, tensors in logits.items()},
        "inputs": loss_inputs(built.task, next(iter(logits.values()))),
        "complexities": complexities}
    with model.session(built, checkpoint) as (session, _):
      session = watched(session)
      batches = list(evaluation.batches(
          session, lambda: session.run(fetches),
          getattr(evaluator, "steps", None), "evaluator.input_fn"))
  _write(batches, folder)
  return built.iteration


def _write(batches, folder):
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
      _write_array(os.path.join(folder, f"{num_files}.npy"), np.concatenate(
          [batch["logits"][name].pop(path) for batch in batches]))
      numbers[path] = num_files
      num_files += 1
    members[name] = ensemble_lib.Member(numbers, float(complexity))
  recording = RecordedLogits(
      members, members.pop(None, None),
      {path: concatenated([batch["inputs"][path] for batch in batches])
       for path in first["inputs"]},
      tuple(RecordedBatch(size, digest(batch["inputs"].values()))
            for size, batch in zip(sizes, batches)))
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
    _write_array(os.path.join(folder, f"{number}.npy"), array)
  _write_library(recording._replace(members=members), folder)


def _write_library(recording, folder):
  files.write_bytes(os.path.join(folder, "library"), pickle.dumps(recording))


def _write_array(path, array):
  with files.written_whole(path) as temporary:
    with tf_compat.v1.io.gfile.GFile(temporary, "wb") as f:
      np.save(f, np.asarray(array, np.float32))


# Reading.


def _mapped(path):
  """Returns an array of a file, which is not read before it is used."""
  if "://" not in path:
    return np.load(path, mmap_mode="r")
  with tf_compat.v1.io.gfile.GFile(path, "rb") as f:
    return np.load(io.BytesIO(f.read()))


def read(folder: str) -> RecordedLogits:
  """Returns the `RecordedLogits` that `record` wrote in a folder.

  Raises:
    tf.errors.NotFoundError: it has not ended.
  """
  def with_arrays(one):
    arrays = {path: _mapped(os.path.join(folder, f"{number}.npy"))
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
  """Records all networks of an iteration in a temporary folder.

  Args:
    model: see `record`.
    number: see `record`.
    checkpoint: see `record`.

  Yields:
    The `Iteration` of the graph that was built, and `RecordedLogits`.
  """
  with tempfile.TemporaryDirectory() as folder:
    iteration = record(model, number, checkpoint, folder)
    yield iteration, read(folder)


@contextlib.contextmanager
def with_previous(model: model_lib.Model, number: int,
                  checkpoint: Optional[str], new: RecordedLogits
                 ) -> Iterator[RecordedLogits]:
  """Adds the previous ensemble and its networks to logits of new networks.

  Args:
    model: see `record`.
    number: see `record`.
    checkpoint: see `record`.
    new: `RecordedLogits` of the iteration's own networks.

  Yields:
    `RecordedLogits` of all, the previous ensemble's first.
  """
  if not model.history(number):
    yield new
    return
  with tempfile.TemporaryDirectory() as folder:
    record(model._replace(part=()), number, checkpoint, folder)
    yield merged([read(folder), new])


def other_data_error(who: str, batch: int) -> ValueError:
  """Returns the error of data that differs from the recorded data.

  Args:
    who: str, the networks or the part that saw different data.
    batch: int, the first batch that differs, from 0.
  """
  return ValueError(
      f"evaluator.input_fn: {who} got another batch {batch} than others before."
      " Fitted ensembles need the same examples in the same order each time: "
      "do not shuffle, or shuffle with a seed")


def merged(recordings: Sequence[RecordedLogits]) -> RecordedLogits:
  """Returns the networks of several recordings as one.

  Args:
    recordings: each `RecordedLogits`, at least one. A member of several is
      taken from the first one.

  Raises:
    ValueError: they were recorded on other data, or in another order.
  """
  first = recordings[0]
  members = {}
  for recording in reversed(recordings):
    if recording.batches != first.batches:
      pairs = list(zip(recording.batches, first.batches))
      raise other_data_error(
          ", ".join(f"t{t}_{name}" for t, name in recording.members),
          next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs)))
    members.update(recording.members)
  order = [name for recording in recordings for name in recording.members]
  return first._replace(
      members={name: members[name] for name in dict.fromkeys(order)},
      previous=next((recording.previous for recording in recordings
                     if recording.previous is not None), None))
