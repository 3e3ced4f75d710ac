# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests state that layers of Keras 3 have outside of a graph.

`adanet/estimator:keras_layers_test` trains and exports such layers.
"""

import itertools
import threading
import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.tf_compat import keras_scope
import numpy as np

if tf_compat.HAS_KERAS_3:
  keras = tf_compat.keras_3

  class Asking(keras.layers.Layer):
    """A layer with another `call`."""

    def __init__(self, ask, **arguments):
      super().__init__(**arguments)
      self._ask = ask

    def call(self, inputs):
      return self._ask(inputs)

v1, v2 = tf_compat.v1, tf_compat.v2

_WORDS = np.array([["red"], ["blue"], ["red"], ["green"], ["none"]], object)
_NUMBERS = np.array([[3], [1], [3], [2], [4]])
_REALS = np.array([[.5, -1.], [1.5, 2.], [-3., 0.], [.25, .75], [9., 4.]], "f")
_TEXTS = np.array([["red blue"], ["Blue, blue!"], ["green"], ["none"], [""]],
                  object)


def _made(name, **arguments):
  return getattr(keras.layers, name)(**arguments)


# A layer's name, its arguments, what it adapts to, and its inputs, of which the
# last value is new to the layer.
_CASES = (
    [(name, {"output_mode": mode}, data[:4], data) for name, mode, data in (
        ("StringLookup", "tf_idf", _WORDS), ("StringLookup", "int", _WORDS),
        ("StringLookup", "one_hot", _WORDS),
        ("IntegerLookup", "multi_hot", _NUMBERS),
        ("TextVectorization", "tf_idf", _TEXTS),
        ("TextVectorization", "int", _TEXTS))] +
    [("CategoryEncoding", {"num_tokens": 5, "output_mode": "count"}, None,
      _NUMBERS),
     ("Hashing", {"num_bins": 4, "salt": 3}, None, _NUMBERS),
     ("Discretization", {"bin_boundaries": [-1., .5], "output_mode": "one_hot"},
      None, _REALS),
     ("Discretization", {"num_bins": 3, "output_mode": "int"}, _REALS[:4],
      _REALS),
     ("StringLookup", {"num_oov_indices": 2, "mask_token": ""}, _WORDS[:4],
      _WORDS),
     ("StringLookup", {"output_mode": "count", "max_tokens": 9,
                       "pad_to_max_tokens": True}, _WORDS[:4], _WORDS),
     ("TextVectorization", {"ngrams": 2, "output_sequence_length": 3},
      _TEXTS[:4], _TEXTS),
     ("Normalization", {}, _REALS[:4], _REALS),
     ("Normalization", {"axis": None}, _REALS[:4], _REALS),
     ("Normalization", {"mean": [1., 2.], "variance": [4., 9.]}, None, _REALS)])


def _adapted(name, arguments, data):
  layer = _made(name, **arguments)
  if data is not None:
    layer.adapt(data)
  return layer


def _given(layer, name, arguments, data):
  """Returns a function that makes a layer with the state of one."""
  if data is None:
    return lambda: _made(name, **arguments)
  if name == "Normalization":
    mean, variance = (
        one.numpy().item() if "axis" in arguments else one.numpy()[0]
        for one in (layer.mean, layer.variance))
    return lambda: _made(name, mean=mean, variance=variance, **arguments)
  if name == "Discretization":
    return lambda: _made(name, bin_boundaries=layer.bin_boundaries,
                         output_mode=arguments["output_mode"])
  state = [layer.get_vocabulary()]
  if arguments.get("output_mode") == "tf_idf":
    state.append(getattr(layer, "_lookup_layer", layer).idf_weights.numpy())

  def make():
    made = _made(name, **arguments)
    made.set_vocabulary(*state)
    return made

  return make


class _Graph:
  """A graph of what a function makes of an input, in a scope."""

  def __init__(self, call, *inputs):
    """Builds the graph.

    Args:
      call: function of tensors.
      *inputs: arrays.
    """
    self._graph = v1.Graph()
    self.scope = keras_scope.KerasScope("scope")
    with self._graph.as_default():
      self._inputs = {
          v1.placeholder(v1.as_dtype(one.dtype), (None,) + one.shape[1:]): one
          for one in inputs}
      with self.scope.entered():
        self.outputs = call(*self._inputs)
        self._updates = self.scope.updates()
      self._session = v1.Session()
      self._session.run([v1.global_variables_initializer(),
                         v1.tables_initializer()])
      self.variables = [v.op.name for v in v1.global_variables()]

  def run(self):
    """Returns the outputs, and then runs the updates."""
    outputs = self._session.run(self.outputs, self._inputs)
    self._session.run(self._updates, self._inputs)
    return outputs


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasEagerTest(parameterized.TestCase):

  @parameterized.named_parameters(
      (f"{i}_{case[0]}_{case[1].get('output_mode', '')}", *case)
      for i, case in enumerate(level.first(_CASES)))
  def test_layer(self, name, arguments, data, inputs):
    eager = _adapted(name, arguments, data)
    expected = np.asarray(eager(v2.constant(inputs)))
    path = self.create_tempdir().full_path + "/model.keras"
    # As in Keras, only what has an input of text takes text.
    tensor = keras.Input(inputs.shape[1:], dtype=(
        "string" if inputs.dtype == object else inputs.dtype))
    keras.Model(tensor, eager(tensor)).save(path)
    loaded = keras.models.load_model(path)
    for make in (
        _given(eager, name, arguments, data),
        lambda: _adapted(name, arguments, data),
        lambda: keras.models.load_model(path),
        # One graph leaves nothing in a layer.
        lambda: eager, lambda: eager, lambda: loaded,
        lambda: keras.Sequential([tensor, loaded.layers[-1]])):
      np.testing.assert_allclose(
          expected, _Graph(lambda x, made=make: made()(x), inputs).run(),
          rtol=1e-6)
    np.testing.assert_array_equal(expected, eager(v2.constant(inputs)))

  def test_sizes_are_numbers(self):
    def call(words):
      layer = _adapted("StringLookup", {}, _WORDS)
      self.assertEqual(5, layer.vocabulary_size())
      self.assertEqual(["[UNK]", "red", "none"], layer.get_vocabulary()[:3])
      return keras.layers.Embedding(layer.vocabulary_size(), 2)(layer(words))

    graph = _Graph(call, _WORDS)
    self.assertEqual((5, 1, 2), graph.run().shape)
    self.assertEqual(["scope/embedding/embeddings"], graph.variables)

  def test_values_tables_and_variables(self):
    table = v2.lookup.StaticHashTable(v2.lookup.KeyValueTensorInitializer(
        ["red", "blue"], [1., 2.]), -1.)
    value = v2.constant([[10.]])
    variable = v2.Variable(100., trainable=False)

    def call(words):
      in_loop = v2.map_fn(lambda word: table[word] * variable, words,
                          fn_output_signature=v1.float32)
      return [table[words] * value + variable, in_loop]

    found = _Graph(call, _WORDS[:4]).run()
    self.assertEqual([[110.], [120.], [110.], [90.]], found[0].tolist())
    self.assertEqual([[100.], [200.], [100.], [-100.]], found[1].tolist())

  @level.gate
  def test_frozen_base(self):
    base = keras.Sequential([
        keras.Input([2]), keras.layers.Dense(3), keras.layers.Reshape([3, 1]),
        keras.layers.BatchNormalization(), keras.layers.GRU(4)])
    base.trainable = False
    for variable in base.variables[3:5]:
      variable.assign(keras.ops.ones_like(variable) / 3.)
    expected = base(_REALS)
    graph = _Graph(lambda x: base(x, training=True), _REALS)
    for _ in range(2):
      np.testing.assert_allclose(expected, graph.run(), rtol=1e-5, atol=1e-6)
    # As where a model is loaded in the graph.
    self.assertSameElements(
        ["scope/" + one.path for one in base.weights], graph.variables)
    self.assertEmpty(graph.scope.updates())

  def test_dropout_of_a_frozen_base_draws_in_each_step(self):
    base = keras.Sequential([keras.layers.Dropout(.5, seed=1)])
    base.trainable = False
    ones = np.ones([4, 50], np.float32)
    graph = _Graph(lambda x: [base(x, training=True) for _ in range(2)], ones)
    drawn = [one.tolist() for _ in range(2) for one in graph.run()]
    for left, right in itertools.combinations(drawn, 2):
      self.assertNotEqual(left, right)
    again = keras.layers.Dropout(.5, seed=1)
    for one in drawn:
      self.assertEqual(one, again(ones, training=True).numpy().tolist())
    self.assertEqual(  # The program's own is as before.
        drawn[0], base(ones, training=True).numpy().tolist())

  def test_one_line(self):
    trained = keras.layers.Dense(1)
    trained(_REALS)
    counted = v2.Variable(0., trainable=False)
    table = v2.lookup.experimental.MutableHashTable(v1.string, v1.int64, 0)
    made = v2.data.Dataset.from_tensor_slices

    def counting(inputs):
      counted.assign_add(1.)
      return inputs + counted

    def growing(inputs):
      table.insert(v2.as_string(inputs), v2.ones_like(inputs, v1.int64))
      return inputs

    def found(inputs):
      return table.lookup(v2.as_string(inputs))

    for call, message in (
        (trained, "layer 'dense.*' uses the variable dense.*/kernel, which "
         "was made outside of the function and would train: make .* freeze"),
        (lambda x: x * trained.bias, "the network uses the variable .*/bias, "),
        (Asking(counting, name="mine"), "layer 'mine' changes Variable in each"
         " step, and was made outside of the function: "),
        (lambda x: keras.Sequential([
            keras.Input([2]), Asking(growing, name="mine")])(x),
         "layer 'mine' changes a table in each"),
        (Asking(found), "a MutableHashTable or the like was made outside of "),
        (lambda x: keras.layers.IntegerLookup()(v1.cast(x, v1.int64)),
         "layer 'integer_lookup' has a table without entries: call adapt "),
        (lambda x: _adapted("Discretization", {"num_bins": 2}, made(_REALS)),
         "adapt reads a tf.data.Dataset that was made while the graph is ")):
      with self.assertRaisesRegex(ValueError, f"^scope: {message}") as caught:
        _Graph(call, _REALS)
      self.assertNotIn("\n", str(caught.exception))

  @parameterized.named_parameters(level.first([
      ("if", lambda x: x if v2.reduce_sum(x) > 0 else -x),
      ("int", lambda x: x * int(v2.reduce_sum(x))),
      ("float", lambda x: x * float(v2.reduce_sum(x))),
      ("numpy", lambda x: x * x.numpy().mean()),
      ("array", lambda x: x * np.mean(x)),
      ("ops", lambda x: x * keras.ops.convert_to_numpy(x)),
      ("loop", lambda x: sum(row for row in x)),
      ("range", lambda x: [x for _ in range(v1.shape(x)[0])][0]),
      ("len", lambda x: x * len(x))], 2))
  def test_call_that_asks_for_a_value(self, ask):
    layer = Asking(ask, name="mine")
    layer(_REALS)  # As it is, it works eagerly.

    def functional():
      inputs = keras.Input([2])
      return keras.Model(inputs, Asking(ask, name="mine")(inputs))

    for make in (lambda: layer, lambda: keras.Sequential([layer]), functional):
      with self.assertRaisesRegex(
          ValueError, r"^scope: layer 'mine' \(Asking\) asks for the value of "
          "a tensor in call, .*: call must be traceable, as under jit_compile"
          ) as caught:
        _Graph(lambda x, made=make: made()(x), _REALS)
      self.assertNotIn("\n", str(caught.exception))

  def test_other_errors_are_as_before(self):
    with self.assertRaisesRegex(ValueError, "^scope: get_weights or numpy "):
      _Graph(lambda x: keras.Sequential([
          keras.Input([2]), keras.layers.Dense(1)]).get_weights(), _REALS)
    with self.assertRaisesRegex(
        AttributeError, "object has no attribute 'nothing'"):
      _Graph(lambda x: x.nothing, _REALS)

  def test_the_process_is_as_before(self):
    functions = ("__init__", "adapt", "__call__", "build", "get_vocabulary")
    layers = (keras.layers.StringLookup, keras.layers.Normalization,
              keras.layers.TextVectorization, keras.layers.Discretization)

    def now():
      return [vars(layer).get(name) for layer in layers for name in functions
              ] + [keras.Variable._direct_assign, keras.Variable.value,
                   type(v2.constant(0.)).__tf_tensor__]

    before = now()
    inside = []
    one = v2.constant(1.)

    def call(x):
      inside.extend(now())
      thread = threading.Thread(target=elsewhere)
      thread.start()
      thread.join()
      return x

    def elsewhere():
      # A program's own thread is not in the scope.
      with self.assertRaisesRegex(RuntimeError, "capture an EagerTensor"):
        with v1.Graph().as_default():
          v1.identity(one)
      inside.append(keras.layers.Normalization(mean=0., variance=1.)(_REALS))

    _Graph(call, _REALS)
    self.assertLen(inside, len(before) + 1)
    self.assertNotEqual(before, inside[:-1])
    self.assertEqual(before, now())


if __name__ == "__main__":
  absltest.main()
