# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The seeds that random ops and Keras layers get where a program gives none.

TensorFlow makes the seed of an op from that of the graph and from a count: of
all ops of the graph in TensorFlow 1, of random ops without a seed since. Keras
2 draws from `random`, or from a generator of its own, and some of its functions
from `numpy.random`. Keras 3 draws from `random`. In a scope of this module all
of these follow from the scope's name alone.

In a graph without a seed they are new ones each time. There, too, nothing is
drawn from the generators of the program itself.

`seeded_thread` does the same for Keras models that live outside of graphs.
"""

import contextlib
import hashlib
import itertools
import pickle
import random
import threading
from typing import Any, Dict, Iterator, NamedTuple, Optional

from adanet.tf_compat import keras_internals
from adanet.tf_compat import tensorflow_internals
import numpy as np

# The generators belong to the process, and parts of a search may be built in
# several threads of it.
_LOCK = threading.RLock()

# The graphs without a seed.
_NUMBERS = itertools.count()


class _SeedState(NamedTuple):
  """The source of the seeds that a program does not give.

  Attributes:
    graph_seed: int, the graph's seed, as changed by `tf.set_random_seed`.
    op_seed: int, the seed of the next op; None before the first seed.
    keras: the generator of Keras 2; None if the program set no generator.
    keras_3: the generator of Keras 3 in place of `random`, which other threads
      of the process, such as Dask's, use at the same time; None if Keras 3 is
      not loaded.
  """
  graph_seed: int
  op_seed: Optional[int]
  python: Any
  numpy: Any
  keras: Optional[random.Random]
  keras_3: Any


class UnseededOps:
  """Mixin of a `tf.Graph` with seeds that can follow from the name of a scope.

  Attributes:
    sources: dict from the name of a scope to where the scope's seeds go on, for
      `seed_scope`.
    start: str, the source of the seeds of a graph without a seed; "" before the
      first use.
  """

  def __init__(self, *args: Any, **kwargs: Any) -> None:
    super().__init__(*args, **kwargs)
    self.sources: Dict[str, Any] = {}
    self.start = ""
    self._op_seed: Optional[int] = None

  @property
  def op_seed(self) -> Optional[int]:
    """The seed of the next op without one; None for TensorFlow's first."""
    counts = tensorflow_internals.op_counts()
    return self._op_seed if counts is None else counts.get(self)

  @op_seed.setter
  def op_seed(self, seed: Optional[int]) -> None:
    counts = tensorflow_internals.op_counts()
    if counts is None:
      self._op_seed = seed
    elif seed is None:
      counts.pop(self, None)
    else:
      counts[self] = seed

  @property
  def _last_id(self):
    # Only TensorFlow 1 reads it, and only for the seed of an op.
    if self._op_seed is None:
      return super()._last_id
    self._op_seed += 1
    return self._op_seed - 1


def _current(graph):
  """Returns the current `_SeedState`."""
  return _SeedState(graph.seed, graph.op_seed, random.getstate(),
                 np.random.get_state(),
                 getattr(keras_internals.seeds_of_keras_2(), "generator", None),
                 getattr(keras_internals.seeds_of_keras_3(), "python_random",
                         None))


def _use(graph, source):
  """Makes a `_SeedState` current."""
  graph.seed = source.graph_seed
  graph.op_seed = source.op_seed
  random.setstate(source.python)
  np.random.set_state(source.numpy)
  generators = keras_internals.seeds_of_keras_2()
  if generators is not None:
    generators.generator = source.keras
  keras_3_seeds = keras_internals.seeds_of_keras_3()
  if keras_3_seeds is not None and source.keras_3 is not None:
    keras_3_seeds.python_random = source.keras_3


def _first(graph, name):
  """Returns where the seeds of a scope begin."""

  def number(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return int.from_bytes(digest[:4], "big") % (2**31 - 1)

  if graph.seed is None and not graph.start:
    # A program that seeds `random` and NumPy gets the same each time it runs.
    states = pickle.dumps((random.getstate(), np.random.get_state()))
    graph.start = f"{next(_NUMBERS)}/{hashlib.sha256(states).hexdigest()}"
  # TensorFlow adds the graph's seed to that of an op, and Python does not.
  seed = number(f"{graph.start if graph.seed is None else graph.seed}/{name}")
  op_seed = None if graph.seed is None else number(name)
  return _SeedState(graph.seed, op_seed, random.Random(seed).getstate(),
                 np.random.RandomState(seed).get_state(), None,
                 random.Random(seed))


@contextlib.contextmanager
def seed_scope(graph: Any, name: str) -> Iterator[None]:
  """Lets the seeds that a program does not give follow from a name.

  The seeds do not depend on the rest of the graph. A scope with the name of an
  earlier scope goes on where the earlier scope ended. After the scope, all
  sources of seeds are as before.
  """
  with _LOCK:
    outer = _current(graph)
    _use(graph, graph.sources.get(name) or _first(graph, name))
    try:
      yield
    finally:
      graph.sources[name] = _current(graph)
      _use(graph, outer)


class _SeedsOfThread:
  """The module `random` for Keras 3, with separate numbers in a thread.

  The numbers are from a generator of the thread, because other threads, such as
  Dask's, draw from Python's generator at the same time. If a function of the
  user seeds Python's generator, such as by `keras.utils.set_random_seed`, Keras
  draws from the seed, as in a program without adanet.
  """

  def __init__(self, seed: int, shared: Any) -> None:
    self._thread = threading.get_ident()
    self._shared = shared
    self._own = random.Random(seed)
    self._known = self._own.getstate()  # Of Python's generator.

  def randint(self, *limits: int) -> int:
    if threading.get_ident() != self._thread:
      return self._shared.randint(*limits)
    state = random.getstate()
    if state != self._known and _is_new(state):
      self._known = state
      self._own.setstate(state)
    return self._own.randint(*limits)

  def __getattr__(self, name: str) -> Any:
    return getattr(self._shared, name)


def _is_new(state):
  """Returns whether nothing was drawn since Python's generator was seeded.

  The first number of a Mersenne Twister with an array as the seed is fixed.
  """
  numbers = state[1]
  return numbers[0] == 1 << 31 and numbers[-1] == len(numbers) - 1


@contextlib.contextmanager
def seeded_thread(seed: int) -> Iterator[None]:
  """Seeds what Keras 3 and a user's functions draw in the block.

  In the thread, all seeds of Keras's layers and initializers follow from
  `seed`, as do draws from `random` and `numpy.random`. After the block, all
  generators are as before. Other threads of the program see the changed
  generators, so build a model in the block, and trace elsewhere. A release of
  Keras that draws differently draws from Python's generator, which has the
  seed, too.
  """
  try:
    keras_3 = keras_internals.seeds_of_keras_3()
  except RuntimeError:
    keras_3 = None
  with _LOCK:
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    if keras_3 is not None:
      shared = keras_3.python_random
      keras_3.python_random = _SeedsOfThread(seed, shared)
    try:
      yield
    finally:
      if keras_3 is not None:
        keras_3.python_random = shared
      random.setstate(states[0])
      np.random.set_state(states[1])
