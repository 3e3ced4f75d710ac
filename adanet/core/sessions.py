# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What makes a session ready to run: its variables, its tables, its input."""

import contextlib
import re
import typing

from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import layer_names

# A moving average starts anew where another version wrote other names.
_AVERAGE_STATE = re.compile(r".*/adanet_loss/(biased|local_step)\Z")


class _Saved(typing.NamedTuple):
  """A variable as a checkpoint has it.

  Attributes:
    name: str. The parts of a partitioned variable have the same one.
    shape: `TensorShape` of the whole variable.
  """
  name: str
  shape: typing.Any


def _saved(variable):
  """Returns the `_Saved` of a variable of the graph."""
  name = variable.op.name
  if "/part_" in name:
    part = variable.to_proto().save_slice_info_def
    if part.full_name:
      return _Saved(part.full_name, tf_compat.v1.TensorShape(part.full_shape))
  return _Saved(name, variable.shape)


class Restorer(object):
  """Restores the variables of the default graph from a checkpoint.

  Attributes:
    checkpoint: str, its prefix.
  """

  def __init__(self, checkpoint: str, new: typing.Optional[str] = None):
    """Checks that the checkpoint has what the graph needs.

    Args:
      checkpoint: str, its prefix.
      new: the beginning of the names of variables that it cannot have yet.

    Raises:
      checkpoints.CheckpointError: it is broken, or it lacks a variable.
    """
    v1 = tf_compat.v1
    checkpoints.check_readable(checkpoint)
    self.checkpoint = checkpoint
    shapes = v1.train.NewCheckpointReader(
        checkpoint).get_variable_to_shape_map()
    variables = {v.op.name: v for v in v1.global_variables()}
    renamed = layer_names.stored_names(variables, shapes)
    found = []
    for name, variable in variables.items():
      if new and name.startswith(new):
        continue
      saved = _saved(variable)
      stored = renamed.get(name, saved.name)
      if stored not in shapes:
        # An optimizer of tf.estimator puts its variables outside of all scopes.
        if _AVERAGE_STATE.match(name) or (
            new and not name.startswith("adanet/iteration_")):
          continue
        raise checkpoints.CheckpointError(
            "{} has no variable {!r}: it is of another search. Use the "
            "builders and ensemblers that wrote it, or an empty model_dir."
            .format(checkpoint, name))
      if not saved.shape.is_compatible_with(shapes[stored]):
        raise checkpoints.CheckpointError(
            "{}: variable {!r} has shape {}, and the search makes it with {}. "
            "Use the builders and the input that wrote it, or an empty "
            "model_dir.".format(checkpoint, name, shapes[stored], saved.shape))
      if name not in renamed:
        found.append(variable)
    found += v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
    self._savers = [v1.train.Saver(group) for group in (
        found, {renamed[name]: variables[name] for name in renamed}) if group]

  def restore(self, session: typing.Any) -> None:
    """Gives the variables their values."""
    for saver in self._savers:
      saver.restore(session, self.checkpoint)


class Initializers(object):
  """What makes a session on the default graph ready.

  Make it when the graph is complete.
  """

  def __init__(self, restorer: typing.Optional[Restorer],
               local_init_ops: typing.Sequence[typing.Any],
               input_initializers: typing.Sequence[typing.Any]):
    """Takes what there is to initialize.

    Args:
      restorer: what restores variables; None where there is no checkpoint.
      local_init_ops: ops of subnetworks that initialize what they have.
      input_initializers: ops that start the input.
    """
    v1 = tf_compat.v1
    self._restorer = restorer
    self._init = v1.global_variables_initializer()
    self._variables = v1.global_variables()
    self._are_set: typing.Any = None
    self._local_init = v1.group(
        v1.local_variables_initializer(), v1.tables_initializer(),
        *local_init_ops)
    self._start_input = v1.group(*input_initializers)
    self._queues = v1.get_collection(v1.GraphKeys.QUEUE_RUNNERS)

  def set_variables(self, session: typing.Any) -> None:
    """Gives all variables their values, those of the checkpoint if any."""
    session.run(self._init)
    if self._restorer:
      self._restorer.restore(session)

  def unset_variables(self, session: typing.Any) -> typing.List[str]:
    """Returns the names of the variables that have no value."""
    if self._are_set is None:
      self._are_set = [
          tf_compat.v1.is_variable_initialized(v) for v in self._variables]
    return [variable.op.name for variable, is_set in zip(
        self._variables, session.run(self._are_set)) if not is_set]

  @contextlib.contextmanager
  def started(self, session: typing.Any) -> typing.Iterator[typing.Any]:
    """Starts the tables and the input of this process.

    Args:
      session: `Session`, whose variables have their values.

    Yields:
      The coordinator of the input's threads, which end at the end.
    """
    v1 = tf_compat.v1
    session.run(self._local_init)
    session.run(self._start_input)
    coordinator = v1.train.Coordinator()
    threads = []
    if self._queues:
      threads = v1.train.start_queue_runners(session, coordinator)
    try:
      yield coordinator
    finally:
      coordinator.request_stop()
      coordinator.join(threads, stop_grace_period_secs=5,
                       ignore_live_threads=True)


def local_session(session_config: typing.Any) -> typing.Any:
  """Returns a session on the default graph, in this process.

  Args:
    session_config: `ConfigProto`; None for one that lets an op run on the CPU
      where its device is not there, as that of `tf.estimator` does.
  """
  v1 = tf_compat.v1
  config = v1.ConfigProto(allow_soft_placement=True)
  if session_config is not None:
    config.CopyFrom(session_config)
    del config.device_filters[:]  # Which are about a cluster.
  return v1.Session(config=config)
