# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Merges the checkpoints of the parts of an iteration to one of a search."""

from typing import Any, Mapping, Sequence, Tuple

from adanet import tf_compat
from adanet import waiting
from adanet.core import model_dir as model_dir_lib
from adanet.core import scopes
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import saveables
from adanet.training import saving
from adanet.training import sessions
from adanet.training import setup as setup_lib
from adanet.training import trainer

_GLOBAL_STEP = "global_step"


def _restored(checkpoints, known, as_variables):
  """Adds the values of some checkpoints to the default graph, to be saved.

  Args:
    checkpoints: prefixes. A value of several is taken from the first one.
    known: the names of the values that are there already.
    as_variables: whether they are read as variables, which take time to
      make.
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
    values = v1.raw_ops.RestoreV2(
        prefix=checkpoint_file.readable(checkpoint), tensor_names=names,
        shape_and_slices=[""] * len(names),
        dtypes=[dtypes[name] for name in names])
    if not as_variables:
      saveables.add(names, values)
      continue
    for name, value in zip(names, values):
      value.set_shape(shapes[name])
      v1.Variable(value, name=name, trainable=False, use_resource=True)


def _global_step(setup, steps):
  """Makes the global step of an iteration, with its value.

  Args:
    setup: `SearchSetup`.
    steps: the steps of the subnetworks, all iterations together.
  """
  v1 = tf_compat.v1
  value = setup.search.global_step_combiner_fn(
      [v1.constant(step, v1.int64) for step in steps])
  return v1.Variable(
      v1.cast(value, v1.int64), name=_GLOBAL_STEP, trainable=False,
      use_resource=True,
      collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP])


def merge(setup: setup_lib.SearchSetup, training: trainer.Training,
          checkpoints: Sequence[str],
          steps: Sequence[int]) -> Tuple[str, int, bool]:
  """Saves one checkpoint with the variables of all parts of an iteration.

  It tells the saving listeners, with a session that has these variables.

  Args:
    setup: `SearchSetup`.
    training: `Training`.
    checkpoints: the prefixes of the parts' checkpoints. A value of several,
      such as of the previous ensemble, is taken from the first one.
    steps: the steps of the iteration's subnetworks, in their order, all
      iterations together.

  Returns:
    The prefix of the checkpoint, its global step, and whether a listener asks
    for a stop.
  """
  with scopes.new_graph(None).as_default():
    listeners = training.request.saving_listeners
    _restored(checkpoints, (), as_variables=bool(listeners))
    return _saved(setup, training, _global_step(setup, steps), listeners)


def with_variables(setup: setup_lib.SearchSetup, training: trainer.Training,
                   checkpoint: str,
                   variables: Mapping[str, Any]) -> str:
  """Saves a checkpoint with further variables.

  Args:
    setup: `SearchSetup`.
    training: `Training`.
    checkpoint: str, the prefix of the one that has all other variables.
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
      [global_step], training.report,
      lambda problem: wait.pause(2., lambda: problem), listeners)
  saver.build()
  with sessions.local_session(setup.config.session_config) as session:
    session.run(tf_compat.v1.global_variables_initializer())
    step = int(session.run(global_step))
    saver.end(session, step, lambda: None)
  assert saver.checkpoint is not None
  return saver.checkpoint, step, saver.is_stop_asked
