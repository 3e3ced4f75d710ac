# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints with variables that no graph has.

    merge            a checkpoint from the checkpoints of an iteration's parts
    with_variables   a checkpoint with further variables
    Carried          variables of earlier iterations, which pass from checkpoint
                     to checkpoint because no training graph needs them
"""

import collections
import re
from typing import Any, DefaultDict, Iterable, List, Mapping, Sequence, Tuple

from adanet import tf_compat
from adanet import waiting
from adanet.core import architecture as architecture_lib
from adanet.core import graph_parts
from adanet.core import model_dir as model_dir_lib
from adanet.core import scopes
from adanet.tf_compat import checkpoint_file
from adanet.training import saving
from adanet.training import sessions
from adanet.training import setup as setup_lib

_GLOBAL_STEP = "global_step"


def _values(checkpoint, names, dtypes):
  """Returns tensors with the values of some names in a checkpoint."""
  return tf_compat.v1.raw_ops.RestoreV2(
      prefix=checkpoint_file.readable(checkpoint), tensor_names=names,
      shape_and_slices=[""] * len(names),
      dtypes=[dtypes[name] for name in names])


def _restored(checkpoints, known, as_variables):
  """Adds the values of some checkpoints to the default graph, to be saved.

  Args:
    checkpoints: prefixes. The first checkpoint with a value counts.
    known: the names of the values in the graph.
    as_variables: whether to read the values as variables, which takes time.
  """
  v1 = tf_compat.v1
  seen = {_GLOBAL_STEP, *known}
  for checkpoint in checkpoints:
    reader = checkpoint_file.reader(checkpoint)
    dtypes = reader.get_variable_to_dtype_map()
    shapes = reader.get_variable_to_shape_map()
    names = [name for name in sorted(shapes) if name not in seen]
    seen.update(names)
    if not names:
      continue
    values = _values(checkpoint, names, dtypes)
    if not as_variables:
      checkpoint_file.add_saveables(names, values)
      continue
    for name, value in zip(names, values):
      value.set_shape(shapes[name])
      v1.Variable(value, name=name, trainable=False, use_resource=True)


def _global_step(setup, steps):
  """Creates and initializes the global step of an iteration.

  Args:
    steps: the steps of the subnetworks, all iterations together.
  """
  v1 = tf_compat.v1
  value = setup.search.global_step_combiner_fn(
      [v1.constant(step, v1.int64) for step in steps])
  return v1.Variable(
      v1.cast(value, v1.int64), name=_GLOBAL_STEP, trainable=False,
      use_resource=True,
      collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP])


def merge(setup: setup_lib.SearchSetup, training: Any,
          checkpoints: Sequence[str],
          steps: Sequence[int]) -> Tuple[str, int, bool]:
  """Saves a checkpoint with the variables of all parts of an iteration.

  Saving listeners are called with a session that has these variables.

  Args:
    checkpoints: the prefixes of the parts' checkpoints. The first checkpoint
      with a value counts, such as for the previous ensemble.
    steps: the steps of the iteration's subnetworks, in order, all iterations
      together.

  Returns:
    The prefix of the checkpoint, the global step, and whether a listener asks
    for a stop.
  """
  with scopes.new_graph(None).as_default():
    listeners = training.request.saving_listeners
    _restored(checkpoints, (), as_variables=bool(listeners))
    return _saved(setup, training, _global_step(setup, steps), listeners)


def with_variables(setup: setup_lib.SearchSetup, training: Any,
                   checkpoint: str,
                   variables: Mapping[str, Any]) -> str:
  """Saves a checkpoint with further variables.

  Args:
    checkpoint: str, the prefix of the checkpoint with all other variables.
    variables: dict from a name to a value.

  Returns:
    The prefix of the new checkpoint.
  """
  step = setup.model_dir.global_step(checkpoint)
  with scopes.new_graph(None).as_default():
    for name, value in variables.items():
      tf_compat.v1.Variable(
          value, name=name, trainable=False, use_resource=True)
    _restored([checkpoint], variables, as_variables=False)
    return _saved(setup, training, _global_step(setup, [step]), ())[0]


def _saved(setup, training, global_step, listeners):
  """Saves the default graph's variables; returns the same as `merge`."""
  wait = waiting.Wait(training.request.wait_timeout_secs, "free some space")
  saver = saving.CheckpointSaver(
      model_dir_lib.ModelDir(setup.model_dir.path), setup.config,
      [global_step], global_step, training.report,
      lambda problem: wait.pause(2., lambda: problem), listeners)
  saver.build()
  with sessions.local_session(setup.config.session_config) as session:
    session.run(tf_compat.v1.global_variables_initializer())
    step = int(session.run(global_step))
    saver.end(session, lambda: None)
  assert saver.checkpoint is not None
  return saver.checkpoint, step, saver.is_stop_asked


_ITERATION = re.compile(r"adanet/iteration_(\d+)/")

_Winners = Sequence[Tuple[int, architecture_lib.Architecture]]


def network_scope(number: int, name: str) -> str:
  """Returns the beginning of the names of a subnetwork's variables."""
  return f"adanet/iteration_{number}/subnetwork_t{number}_{name}/"


def _of_network(scope, stored, known):
  """Returns the names of a network's variables in a checkpoint.

  Args:
    stored: the names in the checkpoint.
    known: the names of the network's variables, without the optimizer's. Empty
      if not known.
  """
  own = [name for name in stored if name.startswith(scope)]
  # A checkpoint of AdaNet 0.8 may have other names.
  return [name for name in own if name in known] if (
      known and known.issubset(own)) else own


def names(stored: Iterable[str], in_graph: Iterable[str], number: int,
          winners: _Winners,
          known: Mapping[Tuple[int, str], Iterable[str]]) -> List[str]:
  """Returns the names of the variables to carry, in order.

  Args:
    stored: the names of a checkpoint's variables.
    in_graph: the names of the graph's variables.
    number: int, the iteration of the graph.
    winners: pairs of an earlier iteration and the winner's `Architecture`.
    known: dict from the name of a network to the names of the variables without
      the optimizer's, if known.
  """
  left = set(stored).difference(in_graph)
  carried = {name for name in left if not _ITERATION.match(name)}
  for earlier, architecture in winners:
    if earlier < number:
      scope = f"adanet/iteration_{earlier}/"
      ensemble = graph_parts.ensemble_name(
          earlier, architecture.ensemble_candidate_name,
          architecture.ensembler_name)
      carried.update(name for name in left if name.startswith(
          (f"{scope}candidate_", f"{scope}ensemble_{ensemble}/")))
      for builder in architecture.subnetworks_of(earlier):
        carried.update(_of_network(
            network_scope(earlier, builder), left,
            set(known.get((earlier, builder), ()))))
  return sorted(carried)


class Carried:
  """Values of a checkpoint that each later checkpoint has, too."""

  def __init__(self, checkpoint: str, winners: _Winners, number: int,
               known: Mapping[Tuple[int, str], Iterable[str]]):
    """Adds the values to the default graph, for each saver that is built later.

    Create this object when the graph has all variables.
    """
    v1 = tf_compat.v1
    self._load: List[Any] = []
    reader = checkpoint_file.reader(checkpoint)
    shapes = reader.get_variable_to_shape_map()
    dtypes = reader.get_variable_to_dtype_map()
    carried = names(shapes, sessions.saved_names(), number, winners, known)
    if not carried:
      return
    values = _values(checkpoint, carried, dtypes)
    by_device: DefaultDict[str, Tuple[List[str], List[Any]]] = (
        collections.defaultdict(lambda: ([], [])))
    # A `Variable` of each would take a dozen ops.
    for name, value in zip(carried, values):
      handle = v1.raw_ops.VarHandleOp(
          dtype=dtypes[name], shape=shapes[name], shared_name=name)
      self._load.append(v1.raw_ops.AssignVariableOp(
          resource=handle, value=value))
      of_device = by_device[handle.device]
      of_device[0].append(name)
      of_device[1].append(v1.raw_ops.ReadVariableOp(
          resource=handle, dtype=dtypes[name]))
    for variable_names, tensors in by_device.values():
      checkpoint_file.add_saveables(variable_names, tensors)

  def load(self, session: Any) -> None:
    """Reads them from the checkpoint."""
    session.run(self._load)
