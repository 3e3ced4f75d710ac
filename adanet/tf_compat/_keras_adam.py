# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A step of Keras's Adam, in one op of TensorFlow for each variable.

Keras writes a step in some fifteen ops a variable, which take longer to make,
to compile and to run. The op has the same formula, and is that of TensorFlow's
own Adam. It computes 1 - beta in float32, which for .999 is .99999 of what
Keras computes. So a step differs from Keras's by a share of 1e-5 at the most.
"""

from typing import Any, Optional, Sequence

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_loaded

_FLOATS = ("float32", "float64")  # In shorter ones, .999 may be 1.
_MAX_ERROR = 2e-5  # Of 1 - beta; that of a step is half of it.
# Arguments with which a step does more.
_MORE = ("amsgrad", "weight_decay", "clipnorm", "global_clipnorm", "clipvalue",
         "use_ema", "loss_scale_factor", "gradient_accumulation_steps")


def _is_plain(optimizer):
  """Whether an optimizer is Adam with a constant learning rate, and no more."""
  keras = keras_loaded.loaded()
  return (
      type(optimizer) is keras.optimizers.Adam and  # pylint: disable=unidiomatic-typecheck
      # pylint: disable-next=protected-access
      isinstance(optimizer._learning_rate, keras.Variable) and
      not any(getattr(optimizer, name) for name in _MORE) and
      # Keras adds up the gradients of its replicas.
      not _tensorflow.v2.distribute.has_strategy())


def _one_minus(beta, dtype):
  """Returns 1 - beta as the op computes it."""
  return 1. - float(dtype.as_numpy_dtype(beta))


def _is_exact(beta, dtype):
  """Whether the op computes nearly what 1 - beta is, which is not 0."""
  return abs(_one_minus(beta, dtype) - (1. - beta)) < _MAX_ERROR * (1. - beta)


def _can_change(gradient, trained, changed):
  """Whether the op can take a step of a variable.

  Args:
    gradient: float tensor, or `IndexedSlices`.
    trained: the variable, `keras.Variable` or `tf.Variable`.
    changed: list of it and its two of Adam, `tf.Variable`. An optimizer that
      comes with a model may not have these.
  """
  return (not isinstance(gradient, _tensorflow.v1.IndexedSlices) and
          getattr(trained, "constraint", None) is None and
          not getattr(trained, "overwrite_with_gradient", False) and
          changed[0].dtype.base_dtype.name in _FLOATS and len(changed) == 3)


def step(optimizer: Any, gradients: Sequence[Any], trained: Sequence[Any]
        ) -> Optional[Any]:
  """Returns the op of one step, or None where Keras has to write it.

  Args:
    optimizer: an optimizer of Keras 3, built in this graph.
    gradients: list of float tensors.
    trained: list of the variables that they are of, of Keras or TensorFlow.
  """
  if not _is_plain(optimizer):
    return None
  tf = _tensorflow.v1
  in_graph = keras_loaded.in_graph
  # pylint: disable=protected-access
  own = {optimizer._var_key(variable): variables for variable, *variables in
         zip(optimizer._trainable_variables, optimizer._momentums,
             optimizer._velocities)}
  changed = [[in_graph(variable) for variable in (
      one, *own.get(optimizer._var_key(one), ()))] for one in trained]
  if not all(map(_can_change, gradients, trained, changed)):
    return None
  betas = optimizer.beta_1, optimizer.beta_2
  if not all(_is_exact(beta, variables[0].dtype.base_dtype)
             for variables in changed for beta in betas):
    return None
  iterations = in_graph(optimizer._iterations)
  rate = in_graph(optimizer._learning_rate).read_value()
  before = iterations.read_value()
  by_type = {}
  applied = []
  for gradient, variables in zip(gradients, changed):
    dtype = variables[0].dtype.base_dtype
    if dtype not in by_type:
      number = tf.cast(before, dtype) + 1
      by_type[dtype] = dict(
          # So the first steps, in which a small gradient counts as much as a
          # large one, are those of Keras.
          lr=tf.cast(rate, dtype) * (
              _one_minus(betas[1], dtype) / (1. - betas[1]))**.5,
          epsilon=tf.cast(optimizer.epsilon, dtype),
          **{f"beta{i}": tf.cast(beta, dtype)
             for i, beta in enumerate(betas, 1)},
          **{f"beta{i}_power": tf.cast(beta, dtype) ** number
             for i, beta in enumerate(betas, 1)})
    var, m, v = (one.handle for one in variables)
    with tf.colocate_with(var):
      applied.append(tf.raw_ops.ResourceApplyAdam(
          var=var, m=m, v=v, grad=tf.cast(gradient, dtype),
          **by_type[dtype]))
  with tf.control_dependencies([*applied, before]), tf.colocate_with(
      iterations.handle):
    return iterations.assign_add(1, read_value=False)
