# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models that a user's functions make: seeded, compiled, and answered for."""

from collections.abc import Iterator
import contextlib
import random
import threading
from typing import Any, NamedTuple

from adanet import tf_compat
from adanet.ensemble_search import words
from adanet.tf_compat import runtime
import numpy as np

keras = tf_compat.keras_3
# Python's and NumPy's generators are of the process.
_seeding = threading.RLock()
_MAX_SEEDS = 1000  # Of a model: one for each weight, dropout and the like.


class Compiling(NamedTuple):
  """What `Model.compile` gets, for models that are not compiled.

  Attributes:
    optimizer, loss, metrics, loss_weights: as `Model.compile` takes them. Each
      model has copies of objects that have a state.
  """
  optimizer: Any = "adam"
  loss: Any = None
  metrics: Any = None
  loss_weights: Any = None

  def compile(self, model: Any, with_optimizer: bool = True,
              with_metrics: bool = True,
              jit_compile: bool | str = False) -> None:
    """Compiles a model.

    Args:
      model: `keras.Model`.
      with_optimizer, with_metrics: bool, whether the model gets these.
      jit_compile: as `Model.compile` takes it. An ensemble of many networks
        would compile for minutes, and a judge is too small to gain.

    Raises:
      ValueError: Keras refuses an argument, or an object cannot be copied.
    """
    arguments = {"loss": self.loss, "loss_weights": self.loss_weights,
                 "jit_compile": jit_compile}
    model.compile(
        _copied("optimizer", self.optimizer) if with_optimizer else "adam",
        metrics=_copied("metrics", self.metrics) if with_metrics else None,
        **arguments)


def _copied(name, value):
  """Returns optimizers or metrics without the state of the given ones."""
  if isinstance(value, dict):
    return {key: _copied(name, one) for key, one in value.items()}
  if isinstance(value, (list, tuple)):
    return type(value)(_copied(name, one) for one in value)
  if not isinstance(value, (keras.optimizers.Optimizer, keras.metrics.Metric)):
    return value
  config = None
  try:
    config = keras.saving.serialize_keras_object(value)
    # A user's own object, with a lambda perhaps: safe, it is from this program.
    with keras.saving.custom_object_scope({type(value).__name__: type(value)}):
      return keras.saving.deserialize_keras_object(config, safe_mode=False)
  except Exception as error:
    try:
      return type(value).from_config(value.get_config())
    except Exception:  # pylint: disable=broad-except
      raise ValueError(
          f"{name} has {words.described(value)} of the class "
          f"{type(value).__name__}, of which each network needs one of its own "
          f"and Keras cannot copy it: {words.one_line(error)} Give its class a "
          "get_config, or compile the models with it in their functions."
      ) from error


class SeededGenerators:
  """The generators of Python and NumPy that a block draws from."""

  def __init__(self, seed: int):
    self._seed = seed
    self.python = random.Random(seed)

  def draw_seeds_alone(self) -> bool:
    """Returns whether nobody has drawn but Keras, the seeds of its layers."""
    if not all(np.array_equal(one, other) for one, other in zip(
        np.random.get_state(), np.random.RandomState(self._seed).get_state())):
      return False
    replayed, state = random.Random(self._seed), self.python.getstate()
    for _ in range(_MAX_SEEDS):
      if replayed.getstate() == state:
        return True
      replayed.randint(1, 10**9)  # As Keras does.
    return False


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[SeededGenerators]:
  """Seeds what Keras draws its seeds from; puts the user's states back after.

  Keras draws all seeds of initializers and layers from Python's generator. This
  thread has one of its own: others, such as Dask's, draw now and then, too.
  """
  # Nobody behind the end: a module that is imported meanwhile may keep a name.
  threads, generators = {threading.get_ident()}, SeededGenerators(seed)
  own = generators.python
  with _seeding:
    states = random.getstate(), np.random.get_state()
    functions = {name: getattr(random, name) for name in random.__all__
                 if hasattr(own, name)}

    def of_thread(name, function):
      return lambda *args, **kwargs: (
          getattr(own, name) if threading.get_ident() in threads else function
      )(*args, **kwargs)

    random.seed(seed)
    np.random.seed(seed)
    try:
      vars(random).update({name: of_thread(name, function)
                           for name, function in functions.items()})
      yield generators
    finally:
      threads.clear()
      vars(random).update(functions)
      random.setstate(states[0])
      np.random.set_state(states[1])


def made(owner: str, function: Any, compiling: Compiling) -> Any:
  """Returns the model that a function makes, compiled.

  Args:
    owner: str, how messages name the function: "models['deep']".
    function: as the user gave it.
    compiling: for a model that is not compiled.

  Raises:
    ValueError: the function fails, or returns something else.
  """
  try:
    model = function()
  except Exception as error:
    raise ValueError(
        f"{owner} fails to make its model: {type(error).__name__}: "
        f"{words.one_line(error)}") from error
  if not isinstance(model, keras.Model):
    raise ValueError(f"{owner} returned {words.described(model)}: expected a "
                     "model of Keras 3.")
  if not model.compiled:
    if compiling.loss is None:
      raise ValueError(f"loss=None: {owner} is not compiled: expected a loss, "
                       "as Model.compile takes it.")
    try:
      # As Model.fit does. Keras counts the GPUs that a user hides, too.
      compiling.compile(
          model, jit_compile="auto" if runtime.gpu_names() else False)
    except Exception as error:
      raise ValueError(f"{owner}: {words.one_line(error)}") from error
  elif compiling.loss is None and getattr(model, "loss", None) is None:
    raise ValueError(
        f"loss=None: {owner} is compiled without a loss: give the loss that "
        "compares networks, and labels y for it.")
  return model


class KerasSettings(NamedTuple):
  """Settings of Keras that a thread or a process of its own does not have.

  Attributes:
    dtype_policy: str.
    floatx: str.
    epsilon: float.
    image_data_format: str.
  """
  dtype_policy: str
  floatx: str
  epsilon: float
  image_data_format: str

  @classmethod
  def here(cls) -> "KerasSettings":
    """Returns those of this thread."""
    config = keras.config
    return cls(config.dtype_policy().name, config.floatx(), config.epsilon(),
               config.image_data_format())

  def set(self) -> None:
    """Sets these, where they are others."""
    config = keras.config
    if self != self.here():
      config.set_floatx(self.floatx)
      config.set_epsilon(self.epsilon)
      config.set_image_data_format(self.image_data_format)
      config.set_dtype_policy(self.dtype_policy)
