# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a session ready to run: variables, tables, input."""

import contextlib
import re
from typing import (Any, Callable, Dict, Iterator, List, NamedTuple, Optional,
                    Sequence, Tuple)
import weakref

from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import user_input
from adanet.tf_compat import checkpoint_file

# A moving average starts again where another version wrote other names.
_AVERAGE_STATE = re.compile(r".*/adanet_loss/(biased|local_step)\Z")
_LEARNING_RATE = re.compile(
    r"adanet/iteration_\d+/(?:subnetwork|ensemble)_([^/]+)/(.+/)?learning_rate"
    r"\Z")


class _Saved(NamedTuple):
  """A variable, table or resource of the graph, by the name in a checkpoint.

  The parts of a variable share a name, and the shape of the whole variable.
  """
  name: str
  shape: Any
  saved: Any


def _variable(variable):
  """Returns the `_Saved` of a variable of the graph."""
  name = variable.op.name
  if "/part_" in name:
    part = variable.to_proto().save_slice_info_def
    if part.full_name:
      return _Saved(part.full_name,
                    tf_compat.v1.TensorShape(part.full_shape), variable)
  return _Saved(name, variable.shape, variable)


def _all_saved():
  """Yields a `_Saved` for each part of the default graph that is saved."""
  v1 = tf_compat.v1
  for variable in v1.global_variables():
    yield _variable(variable)
  for saveable in v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS):
    for spec in saveable.specs:
      yield _Saved(spec.name, v1.TensorShape(None), saveable)


def saved_names() -> List[str]:
  """Returns the names in a checkpoint of the default graph."""
  return [name for name, _, _ in _all_saved()]


class Restorer:
  """Restores the variables of the default graph from a checkpoint.

  Attributes:
    checkpoint: str, the prefix of the checkpoint.
    has_all: whether the checkpoint has all variables of the graph.
  """

  def __init__(self, checkpoint: str, new: Optional[str] = None):
    """Checks that the checkpoint has all variables of the graph.

    Args:
      checkpoint: str, the prefix of the checkpoint.
      new: the prefix of names of new variables, which no checkpoint has yet.

    Raises:
      checkpoints.CheckpointError: the checkpoint is broken or lacks a variable.
    """
    v1 = tf_compat.v1
    checkpoints.check_readable(checkpoint)
    self.checkpoint = checkpoint
    with checkpoints.explained(checkpoint):
      shapes = checkpoint_file.reader(checkpoint).get_variable_to_shape_map()
    renamed = checkpoints.stored_names(
        [v.op.name for v in v1.global_variables()], shapes)
    self.has_all = True
    match = {}  # By identity: variables of TensorFlow 2 have no hash.
    others = {}
    for name, shape, saved in _all_saved():
      if new and name.startswith(new):
        self.has_all = False
        continue
      stored = renamed.get(name, name)
      if stored not in shapes:
        # An optimizer of tf.estimator puts its variables outside of all scopes.
        if _AVERAGE_STATE.match(name) or (
            new and not name.startswith("adanet/iteration_")):
          self.has_all = False
          continue
        raise checkpoints.CheckpointError(
            f"{checkpoint} has no variable {name!r}: another search wrote it. "
            "Use the builders and ensemblers that wrote it, or an empty "
            "model_dir.")
      if not shape.is_compatible_with(shapes[stored]):
        raise checkpoints.CheckpointError(
            f"{checkpoint}: variable {name!r} has shape {shapes[stored]}, and "
            f"the search makes it with {shape}. Use the builders and the input "
            "that wrote it, or an empty model_dir.")
      if name in renamed:
        others[stored] = saved
      else:
        match[id(saved)] = saved
    self._savers = [v1.train.Saver(group) for group in (
        list(match.values()), others) if group]

  def restore(self, session: Any) -> None:
    """Gives the variables their values."""
    with checkpoints.explained(self.checkpoint):
      for saver in self._savers:
        saver.restore(session, checkpoint_file.readable(self.checkpoint))


class Initializers:
  """The initializers of a session on the default graph.

  Create this object when the graph is complete.

  Attributes:
    kept_rates: dict from a trainee to a pair of learning rates: the rate of the
      new optimizer, and the rate in the checkpoint, which replaces the new
      rate. Keras optimizers have the rate in a variable.
  """

  def __init__(self, restorer: Optional[Restorer],
               local_init_ops: Sequence[Any],
               input_initializers: Sequence[Any],
               load: Callable[[Any], None] = lambda session: None):
    """Runs nothing yet.

    Args:
      restorer: `Restorer`; None without a checkpoint.
      local_init_ops: ops of subnetworks that initialize local state.
      input_initializers: ops that start the input.
      load: function that loads further values of a checkpoint into a session.
    """
    v1 = tf_compat.v1
    self._restorer = restorer
    self._load = load
    self._variables = v1.global_variables()
    self._rates = [(match.group(1), v) for v in self._variables
                   for match in [_LEARNING_RATE.match(v.op.name)] if match]
    self.kept_rates: Dict[str, Tuple[float, float]] = {}
    # Such as the trees of tf.estimator. All tasks use the same ones, so they
    # are made with the variables.
    self._resources = v1.get_collection(v1.GraphKeys.RESOURCES)
    self._init = v1.group(
        v1.global_variables_initializer(),
        *[resource.create for resource in self._resources])
    self._are_set: Any = None
    self._local_init = local_init_op(local_init_ops)
    self._start_input = v1.group(*input_initializers)
    self._queues = v1.get_collection(v1.GraphKeys.QUEUE_RUNNERS)

  def set_variables(self, session: Any) -> None:
    """Initializes all variables, from the checkpoint if there is one."""
    # Initial values are not computed where none is left.
    if not (self._restorer and self._restorer.has_all) or (
        self._rates or self._resources):
      session.run(self._init)
    if self._restorer:
      rates = [variable for _, variable in self._rates]
      initial_rates = session.run(rates)
      self._restorer.restore(session)
      self._load(session)
      self.kept_rates = {
          name: (float(before), float(after)) for (name, _), before, after in
          zip(self._rates, initial_rates, session.run(rates))
          if before != after}

  def unset_variables(self, session: Any) -> List[str]:
    """Returns the names of the variables and resources without a value."""
    if self._are_set is None:
      self._are_set = [
          tf_compat.v1.is_variable_initialized(v) for v in self._variables
      ] + [resource.is_initialized for resource in self._resources]
    names = [v.op.name for v in self._variables] + [
        resource.handle.op.name for resource in self._resources]
    return [name for name, is_set in zip(
        names, session.run(self._are_set)) if not is_set]

  @contextlib.contextmanager
  def started(self, session: Any) -> Iterator[Any]:
    """Starts the tables and the input of the process.

    Args:
      session: `Session` with initialized variables.

    Yields:
      The coordinator of the input's threads, which stop when the context exits.
    """
    v1 = tf_compat.v1
    session.run(self._local_init)
    with user_input.explained_in_run():
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


class OpenSession:
  """A session that is entered only during a call.

  Between calls, the user is in no graph and eager execution is on. The session
  is closed when the program drops the object or exits. After the exit, Python
  cannot start the thread in which TensorFlow closes a session, and would wait
  forever.

  Attributes:
    coordinator: `Coordinator` of the input.
  """

  def __init__(self, session: Any, initializers: Initializers, features: Any):
    """Makes the session ready.

    Args:
      session: `Session`.
      initializers: `Initializers` of the session's graph.
      features: tensor or dict of tensors, for the errors of a run.
    """
    self._session = session
    self._features = features
    opened = contextlib.ExitStack()
    opened.callback(session.close)
    self._close = weakref.finalize(self, opened.close)
    try:
      with self.entered():
        initializers.set_variables(session)
        self.coordinator = opened.enter_context(initializers.started(session))
    except BaseException:
      self.close()
      raise

  @contextlib.contextmanager
  def entered(self) -> Iterator[Any]:
    """Yields the session. Session and graph are the default ones meanwhile."""
    with self._session.graph.as_default(), self._session.as_default(), (
        user_input.explained_in_run(self._features)):
      yield self._session

  def close(self) -> None:
    """Stops the threads of the input, and frees the session."""
    self._close()


def local_init_op(local_init_ops: Sequence[Any]) -> Any:
  """Returns the op that initializes the local state of each process."""
  v1 = tf_compat.v1
  return v1.group(
      v1.local_variables_initializer(), v1.tables_initializer(),
      *[resource.create for resource in v1.get_collection(
          v1.GraphKeys.LOCAL_RESOURCES)], *local_init_ops)


def local_session(session_config: Any) -> Any:
  """Returns a session on the default graph, in the current process.

  Args:
    session_config: `ConfigProto`; None for the default config.
  """
  config = tf_compat.default_session_config()
  if session_config is not None:
    config.CopyFrom(session_config)
    del config.device_filters[:]  # Which are about a cluster.
  return tf_compat.v1.Session(config=config)
