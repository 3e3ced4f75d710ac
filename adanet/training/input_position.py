# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the input is, so that training that was cut off goes on there.

A graph counts the batches that its input gives: batches of a run that failed
do not count, batches that a hook takes do. The counts are kept beside each
checkpoint. Where training goes on from one, as many batches are taken again,
and dropped. That holds for every input that is the same each time it is read.
"""

from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple
from typing import Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.core import scopes

# No text, so that TensorFlow does not write it with the graph.
_COLLECTION = ("adanet_inputs",)
_PYTHON = frozenset(("EagerPyFunc", "PyFunc", "PyFuncStateless"))
_MAX_NAMES = 5  # In a line of the log.

# The name of an op that calls Python code which has no state.
STATELESS_PYTHON = "adanet_arrays"


class _Counted(NamedTuple):
  """An input of a graph, by the scope in which it is read.

  `batches` is the variable that counts, `take` the op that takes a batch.
  """
  name: str
  tensors: List[Any]
  initializers: Sequence[Any]
  batches: Any
  take: Any


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


def counted(batch: Any, initializers: Sequence[Any]) -> Any:
  """Returns tensors of the input as such that count when they are read.

  Args:
    batch: nest of tensors, in the default graph.
    initializers: list of ops that start the input in a session.
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
  graph.add_to_collection(
      _COLLECTION, _Counted(f"{name}+{number}" if number else name, tensors,
                            initializers, batches, count))
  return v1.nest.pack_sequence_as(batch, flat, expand_composites=True)


class InputPosition:
  """How many batches each input of the default graph has given."""

  def __init__(self, start: Mapping[str, int]):
    """Adds its ops to the graph. Make it when the graph is complete.

    Args:
      start: the result of `read` when the checkpoint was saved from which
        training goes on; empty where the input begins.
    """
    v1 = tf_compat.v1
    self._inputs = v1.get_collection(_COLLECTION)
    self._start = {counter.name: start.get(counter.name, 0)
                   for counter in self._inputs}
    self._reads = {counter.name: counter.batches.read_value()
                   for counter in self._inputs}

  @property
  def is_resumed(self) -> bool:
    """Whether an input does not begin: it may be at its end already."""
    return any(self._start.values())

  def read(self, session: Any) -> Dict[str, int]:
    """Returns by the name of each input how many batches it has given.

    As long as they are not taken again, batches before the checkpoint count.
    """
    return {name: max(value, self._start[name])
            for name, value in self._count_batches(session).items()}

  def _count_batches(self, session):
    """Returns by the name of each input how many batches it gave here."""
    if not self._reads:
      return {}
    return {name: int(value)
            for name, value in session.run(self._reads).items()}

  def restore(self, session: Any, asked_to_stop: Callable[[], bool]) -> bool:
    """Takes the batches again that were taken before the checkpoint.

    Args:
      session: `Session`, in which the inputs have begun. A hook that was told
        of it has taken the same batches as before.
      asked_to_stop: returns whether to leave this.

    Returns:
      Whether the inputs are where they were.
    """
    counts = self._count_batches(session)
    return all(
        _take(session, each.take, self._start[each.name] - counts[each.name],
              asked_to_stop) for each in self._inputs)

  def say_what_differs(self, number: int, fetches: Iterable[Any]) -> None:
    """Logs in one line how the input differs from one without a restart.

    Args:
      fetches: the ops that train.
    """
    if not any(self._start.values()):
      return
    read = [tensor.op for each in self._inputs for tensor in each.tensors]
    within = scopes.nodes_within(tf_compat.v1.get_default_graph())

    def names(ops, is_meant):
      return sorted(op.name for op in ops
                    if any(map(is_meant, within(op.node_def))))

    random = names(_ancestors(fetches) - _ancestors(read),
                   lambda node: "seed" in node.attr and "seed2" in node.attr)
    python = names(
        _ancestors(read + [op for each in self._inputs
                           for op in each.initializers]),
        lambda node: node.op in _PYTHON and node.name != STATELESS_PYTHON)
    differs = [f"{what}: {_shown(names)}" for what, names in (
        ("random ops, whose kernels have a state of their own", random),
        ("the input's Python functions, if they have one", python)) if names]
    if differs:
      logging.warning(
          "Iteration %d goes on after %s batches of its input. Not as if it "
          "had gone on at once: %s.", number, max(self._start.values()),
          "; ".join(differs))


def _ancestors(ops):
  """Returns ops, and all that run before them."""
  return set(scopes.ancestors(ops, lambda op: [
      *(tensor.op for tensor in op.inputs), *op.control_inputs]))


def _shown(names):
  more = len(names) - _MAX_NAMES
  return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else
                                          "")


def _take(session, op, batches, asked_to_stop):
  """Takes some batches; returns False if it was asked to stop."""
  take = session.make_callable(op)
  wait = waiting.Wait(None, log=logging.info)
  count = 0
  try:
    while count < batches:
      if asked_to_stop():
        return False
      take()
      count += 1
      wait.pause(0., lambda: (
          f"the input to give the {batches} batches again that are trained on. "
          f"It has given {count}. RunConfig(rereads_input=False) begins it "
          "anew"))
  except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
    logging.warning(
        "The input ended after %d of %d batches that are trained on: it is not "
        "the one that it was.", count, batches)
  wait.done()
  return True
