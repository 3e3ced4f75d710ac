# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The position of the input, where interrupted training resumes.

A graph counts the batches of its input. Batches of a failed run do not count,
and batches that a hook reads do. Each checkpoint has the counts. Training that
resumes from a checkpoint reads the same number of batches again, and drops
them, so that any input that is the same in each run gives the same batches as
without the interruption. The inputs of `adanet.inputs` start at any batch, and
read nothing again.
"""

import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple
from typing import Optional, Sequence

from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.core import scopes
from adanet.progress import reporter

# No text, so that TensorFlow does not write it with the graph.
_COLLECTION = ("adanet_inputs",)
_PYTHON = frozenset(("EagerPyFunc", "PyFunc", "PyFuncStateless"))
# Ops of `tf.data`, whose seeds are 0 without a seed of the graph or dataset.
_SHUFFLES = frozenset((
    "ShuffleDataset", "ShuffleDatasetV3", "ShuffleAndRepeatDataset",
    "ShuffleAndRepeatDatasetV2"))
_MAX_NAMES = 5  # In a line of the log.

# The name of an op that calls Python code which has no state.
STATELESS_PYTHON = "adanet_arrays"
# The name of an op that calls Python code with a random order of rows, of which
# resumed training warns.
SHUFFLE_WITHOUT_SEED = "shuffle_without_seed"


class InputStart(NamedTuple):
  """Where an input starts that can start at any batch.

  Attributes:
    first: int64 [], a tensor to feed: the number of the first batch.
    num_batches: int, the number of batches from batch 0.
  """
  first: Any
  num_batches: int


class _Counted(NamedTuple):
  """An input of a graph.

  Attributes:
    name: str, the scope in which the input is read.
    tensors: list of the tensors of a batch.
    initializers: list of the ops that start the input.
    batches: variable, the count.
    take: op that reads a batch.
    start: `InputStart`; None for an input that starts at batch 0 alone.
    seek: op that starts the input at `start.first`, or None.
  """
  name: str
  tensors: List[Any]
  initializers: Sequence[Any]
  batches: Any
  take: Any
  start: Optional[InputStart]
  seek: Any


def _read(batch):
  """Returns the leaves of a nest, its tensors, and all ops before these."""
  v1 = tf_compat.v1
  flat = v1.nest.flatten(batch, expand_composites=True)
  tensors = [leaf for leaf in flat if isinstance(leaf, v1.Tensor)]
  return flat, tensors, _ancestors([tensor.op for tensor in tensors])


def is_the_same(batch: Any) -> bool:
  """Returns whether all batches of an input are the same, without an end.

  Args:
    batch: nest of tensors, in the default graph.
  """
  _, _, before = _read(batch)
  return not any(op.op_def.is_stateful or op.type == "Placeholder"
                 for op in before)


def counted(batch: Any, initializers: Sequence[Any],
            start: Optional[InputStart] = None) -> Any:
  """Returns the tensors of the input as tensors that count each batch.

  Args:
    batch: nest of tensors, in the default graph.
    initializers: list of ops that start the input in a session.
    start: `InputStart`, if the input can start at any batch.
  """
  v1 = tf_compat.v1
  flat, tensors, before = _read(batch)
  if not any(op.op_def.is_stateful for op in before) or any(
      op.type == "Placeholder" for op in before):
    return batch  # Each batch is the same, or hooks feed it.
  graph = v1.get_default_graph()
  name = v1.get_variable_scope().name
  number = sum(counter.name.partition("+")[0] == name
               for counter in graph.get_collection(_COLLECTION))
  with v1.name_scope("adanet_input/"), v1.control_dependencies(None):
    batches = v1.Variable(
        0, dtype=v1.int64, trainable=False, use_resource=True, name="batches",
        collections=[v1.GraphKeys.LOCAL_VARIABLES])
    with v1.control_dependencies(tensors):
      count = batches.assign_add(1, read_value=False)
    with v1.control_dependencies([count]):
      flat = [v1.identity(leaf) if isinstance(leaf, v1.Tensor) else leaf
              for leaf in flat]
    seek = None if start is None else v1.group(
        *initializers, batches.assign(start.first, read_value=False))
  graph.add_to_collection(
      _COLLECTION, _Counted(f"{name}+{number}" if number else name, tensors,
                            initializers, batches, count, start, seek))
  return v1.nest.pack_sequence_as(batch, flat, expand_composites=True)


class InputPosition:
  """The number of batches that each input of the default graph has given."""

  def __init__(self, saved: Mapping[str, int]):
    """Adds ops to the graph, which must be complete otherwise.

    Args:
      saved: the result of `read` at the checkpoint from which training resumes;
        empty if the input begins.
    """
    v1 = tf_compat.v1
    self._inputs = v1.get_collection(_COLLECTION)
    self._saved = {counter.name: saved.get(counter.name, 0)
                   for counter in self._inputs}
    self._reads = {counter.name: counter.batches.read_value()
                   for counter in self._inputs}

  @property
  def is_resumed(self) -> bool:
    """Whether an input resumes, so that the input may be at its end already."""
    return any(self._saved.values())

  def read(self, session: Any) -> Dict[str, int]:
    """Returns a dict from the name of each input to the number of batches.

    Batches before the checkpoint count, also if `restore` has not run yet.
    """
    return {name: max(value, self._saved[name])
            for name, value in self._count_batches(session).items()}

  def _count_batches(self, session):
    """Returns a dict from the name of each input to the batches read here."""
    if not self._reads:
      return {}
    return {name: int(value)
            for name, value in session.run(self._reads).items()}

  def restore(self, session: Any, asked_to_stop: Callable[[], bool]) -> bool:
    """Moves each input to the batch after the checkpoint.

    Args:
      session: `Session`, in which the inputs have begun. Hooks that read
        batches in a new session have read the same batches as before.
      asked_to_stop: returns whether to stop.

    Returns:
      Whether the inputs are at that batch.
    """
    counts = self._count_batches(session)
    behind = [each for each in self._inputs
              if counts[each.name] < self._saved[each.name]]
    for each in behind:
      if each.start is not None:
        number = self._saved[each.name]
        session.run(each.seek, {each.start.first: number})
        if number > each.start.num_batches:
          _warn_of_end(each.start.num_batches, number)
    behind = [each for each in behind if each.start is None]
    missing = sum(self._saved[each.name] - counts[each.name] for each in behind)
    if not missing:
      return True
    reporter.log_or_print(
        logging.INFO,
        f"Reading {missing} input batches again, to resume after them. "
        "RunConfig(rereads_input=False) restarts the input instead.")
    began = time.monotonic()
    if not all([_take(session, each.take,
                      self._saved[each.name] - counts[each.name], asked_to_stop)
                for each in behind]):
      return False
    reporter.log_or_print(
        logging.INFO,
        f"Reading again took {time.monotonic() - began:.1f} s.")
    return True

  def warn_of_differences(self, number: int, fetches: Iterable[Any]) -> None:
    """Warns of ops whose results may differ from an uninterrupted run.

    Args:
      number: int, the number of the iteration.
      fetches: the ops that train.
    """
    if not self.is_resumed:
      return
    read = [tensor.op for each in self._inputs for tensor in each.tensors]
    within = scopes.nodes_within(tf_compat.v1.get_default_graph())

    def names(ops, is_meant):
      return sorted(op.name for op in ops if any(
          is_meant(*node) for node in within(op.node_def)))

    random = names(
        _ancestors(fetches) - _ancestors(read),
        lambda node, _: "seed" in node.attr and "seed2" in node.attr)
    of_input = _ancestors(read + [
        op for each in self._inputs for op in each.initializers])
    shuffles = names(of_input, _shuffles_without_seed)
    python = names(
        of_input, lambda node, _: node.op in _PYTHON and node.name not in (
            STATELESS_PYTHON, SHUFFLE_WITHOUT_SEED))
    causes = [
        f"{what} ({messages.list_names(names, _MAX_NAMES)})"
        for what, names in (
            ("random ops, which start with new states", random),
            ("a shuffle of the input without a seed", shuffles),
            ("Python functions of the input, if they have a state", python))
        if names]
    if causes:
      advice = (" Give the shuffle a seed, or the RunConfig a tf_random_seed."
                if shuffles else "")
      logging.warning(
          "Resumed iteration %d after %d input batches. Results may differ "
          "from an uninterrupted run because of %s.%s", number,
          max(self._saved.values()), " and ".join(causes), advice)


def _shuffles_without_seed(node, siblings):
  """Returns whether a node shuffles in another order in each session.

  Args:
    node: `NodeDef`.
    siblings: dict from a name to a `NodeDef` of the same function or graph.
  """
  if node.op not in _SHUFFLES:
    return node.name == SHUFFLE_WITHOUT_SEED
  # The inputs: the dataset, the buffer size, the seeds.
  seeds = [siblings.get(name.partition(":")[0]) for name in node.input[2:4]]
  return all(
      seed is not None and seed.op == "Const" and
      not tf_compat.v1.make_ndarray(seed.attr["value"].tensor).any()
      for seed in seeds)


def _ancestors(ops):
  """Returns the set of some ops and of all ops that run before."""
  return set(scopes.ancestors(ops, lambda op: [
      *(tensor.op for tensor in op.inputs), *op.control_inputs]))


def _warn_of_end(count, number):
  logging.warning(
      "The input ended after %d of the %d batches before the interruption: the "
      "input has changed.", count, number)


def _take(session, op, number, asked_to_stop):
  """Reads batches; returns False after a request to stop."""
  take = session.make_callable(op)
  for count in range(number):
    if asked_to_stop():
      return False
    try:
      take()
    except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
      _warn_of_end(count, number)
      break
  return True
