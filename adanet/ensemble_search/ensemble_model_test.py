# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ensemble as one model: which inputs, outputs and layers it has."""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.testing import keras_searches
from adanet.testing import level
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L, O = keras.layers, keras.optimizers
_R = np.random.RandomState(0)
_X = _R.randn(100, 4).astype("float32")
_Y = _X[:, :1] * 2


class EnsembleModelTest(keras_searches.SearchTestCase):

  def _reloaded(self, model, ending=".keras", **arguments):
    """Checks that a model is the same after it was saved and loaded."""
    path = os.path.join(self.create_tempdir().full_path, "model" + ending)
    model.save(path)
    again = keras.models.load_model(path, **arguments)
    keras.tree.map_structure(
        np.testing.assert_array_equal, model.predict(_X, verbose=0),
        again.predict(_X, verbose=0))

  def _of_several(self, models):
    """Returns the ensemble, of several members, judged as Keras judges it."""
    search = self.fit_and_judge(models, _Y * _X[:, 1:2], epochs=6, iterations=2,
                          search={"optimizer": O.Adam(.05)})
    self.assertGreater(len(search.members), 1)
    return search.model

  @parameterized.parameters(level.first([
      ("input_1", "input_0"), ("left", "right"), ("input_1", "input_2")]))
  def test_a_list_goes_by_position(self, *names):
    def make():
      first, second = (keras.Input([2], name=name) for name in names)
      return keras.Model([first, second], L.Dense(
          1, kernel_initializer=keras.initializers.GlorotUniform(1))(
              L.Concatenate()([first, 100. * second])))

    x = [_X[:, :2], _X[:, 2:]]
    search = self.fit(make, "mse", x, _Y, search={"optimizer": O.SGD(0.)})
    np.testing.assert_allclose(search.model.predict(x, verbose=0),
                               make().predict(x, verbose=0), rtol=1e-5)

  @parameterized.named_parameters(level.first([
      ("sequence", _R.randint(1, 9, [100, 7]), (1,), lambda: keras.Sequential([
          keras.Input([None], dtype="int32"), L.Embedding(9, 4),
          L.GlobalAveragePooling1D(), L.Dense(1)])),
      ("table", _X, (), lambda: keras.Sequential([L.Dense(1)])),
      ("built_late", _R.randint(1, 9, [100, 7]), (), lambda: keras.Sequential(
          [L.Embedding(9, 4), L.GlobalMaxPooling1D(), L.Dense(1)])),
      ("pictures", _R.rand(100, 6, 7, 3), (1, 2), lambda: keras.Sequential([
          keras.Input([None, None, 3]), L.Conv2D(4, 3),
          L.GlobalAveragePooling2D(), L.Dense(1)])),
      ("one_side", _R.rand(100, 6, 7, 3), (2,), lambda: keras.Sequential([
          keras.Input([6, None, 3]), L.Conv2D(4, 3), L.Permute([2, 1, 3]),
          L.Reshape([-1, 16]), L.GlobalMaxPooling1D(), L.Dense(1)])),
      ("even", _R.rand(100, 8, 3), (1,), lambda: keras.Sequential([
          keras.Input([None, 3]), L.Reshape([-1, 2, 3]), L.TimeDistributed(
              L.Flatten()), L.GlobalMaxPooling1D(), L.Dense(1)])),
      ("fixed", _R.rand(100, 6, 3), (), lambda: keras.Sequential([
          keras.Input([6, 3]), L.Flatten(), L.Dense(1)])),
      ("functional_fixed", _R.rand(100, 6, 3), (), lambda: keras.Model(
          i := keras.Input([6, 3]), L.Dense(1)(L.GlobalMaxPooling1D()(i)))),
  ]))
  def test_any_length_that_all_members_take(self, x, axes, make):
    search = self.fit({"a": make, "b": make}, "mse", x, _Y)
    self.assertEqual(
        [None] + [None if axis in axes else x.shape[axis]
                  for axis in range(1, x.ndim)],
        list(search.model.inputs[0].shape))
    for axis in axes:
      longer = np.repeat(x[:3], 2, axis)
      np.testing.assert_allclose(
          search.model.predict(longer, verbose=0), sum(
              member.weight * member.model.predict(longer, verbose=0)
              for member in search.members), rtol=1e-4)

  @parameterized.named_parameters(level.first([
      ("list", lambda x, y: [x, y], lambda x, y: [x, y]),
      ("dict", lambda x, y: {"a": x, "b": y}, lambda x, y: {"a": x, "b": y}),
      ("nested", lambda x, y: {"a": {"c": x}, "b": (y,)},
       lambda x, y: {"a": {"c": x}, "b": (y,)})]))
  def test_any_length_of_several_inputs(self, structure, inputs):
    def make():
      a, b = keras.Input([None, 2], name="a"), keras.Input([3], name="b")
      return keras.Model(inputs(a, b), L.Dense(1)(
          L.Concatenate()([L.GRU(3)(a), b])))

    search = self.fit(make, "mse", structure(
        _R.rand(100, 5, 2), _R.rand(100, 3)), _Y)
    longer = structure(_R.rand(3, 9, 2), _R.rand(3, 3))
    self.assertEqual((3, 1), search.model.predict(longer, verbose=0).shape)

  def test_keys_that_are_no_names_of_tensors(self):
    def make():
      a, b = keras.Input([2]), keras.Input([2])
      return keras.Model({"a/b": a, "c": b}, L.Dense(1)(a + b))

    x = {"a/b": _X[:, :2], "c": _X[:, 2:]}
    self.assertEqual((100, 1), self.fit(make, "mse", x, _Y).model.predict(
        x, verbose=0).shape)

  @parameterized.named_parameters(level.first([
      ("list", lambda x, y: [x, y]),
      ("dict", lambda x, y: {"ids": x, "types": y})]))
  def test_inputs_of_the_same_length(self, structure):
    def make():
      ids, types = (keras.Input([None], dtype="int32", name=name)
                    for name in ("ids", "types"))
      return keras.Model(structure(ids, types), L.Dense(1)(
          L.GlobalMaxPooling1D()(L.Embedding(9, 2)(ids) + L.Embedding(2, 2)(
              types))))

    rows = lambda count, length: structure(
        *(_R.randint(kinds, size=[count, length]) for kinds in (9, 2)))
    search = self.fit(make, "mse", rows(100, 5), _Y)
    self.assertEqual((3, 1), search.model.predict(rows(3, 7), verbose=0).shape)

  @level.gate
  def test_any_length_of_one_member_alone(self):
    def make(length):
      return lambda: keras.Model(i := keras.Input([length, 2]), L.Dense(1)(
          L.GlobalMaxPooling1D()(i)))

    search = self.fit({"a": make(None), "b": make(5)}, "mse",
                       _R.rand(100, 5, 2), _Y, epochs=20)
    names = [member.name for member in search.members]
    self.assertEqual(5 if "b" in names else None,
                     search.model.inputs[0].shape[1])

  def test_search_model_changes_no_layer_of_the_user(self):
    """Read in a program where the layer has other values."""
    scale = L.Normalization()
    scale.adapt(3 * _X + 1)
    make = lambda: keras.Sequential([keras.Input([4]), scale, L.Dense(1)])
    folder = self.create_tempdir().full_path
    expected = self.fit(make, "mse", _X, _Y, search={
        "directory": folder}).model.predict(_X, verbose=0)
    scale.adapt(9 * _X)
    before = [np.array(value) for value in scale.get_weights()]
    search = ensemble_search.EnsembleSearch({"a": make}, directory=folder)
    for model in (search.model, search.network("a"), search.members[0].model):
      np.testing.assert_allclose(
          expected, model.predict(_X, verbose=0), rtol=1e-5)
    self.assertEqual(["loss"], list(search.network("a").evaluate(
        _X, _Y, verbose=0, return_dict=True)))
    np.testing.assert_equal(before, scale.get_weights())

    class OfUser(keras.Model):  # Keras copies no such model.

      def __init__(self):
        super().__init__()
        self.scale, self.last = scale, L.Dense(1)

      def call(self, x):
        return self.last(self.scale(x))

    folder = self.create_tempdir().full_path
    self.fit(OfUser, "mse", _X, _Y, search={"directory": folder})
    scale.adapt(5 * _X)
    before = [np.array(value) for value in scale.get_weights()]
    search = ensemble_search.EnsembleSearch({"a": OfUser}, directory=folder)
    with self.assertRaisesRegex(
        ValueError, "the variable .*mean outside of the function has other"):
      print(search.model)
    np.testing.assert_equal(before, scale.get_weights())

  @level.gate
  def test_a_model_of_the_user_stays_as_it_is(self):
    """A function may return a model of the program."""
    class OfUser(keras.Model):

      def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.last = L.Dense(1)

      def call(self, x):
        return self.last(x)

    def freeze(model):  # Or the search would train it.
      model.trainable = False
      return model

    def describe(model):
      return (model.name, model.compiled, model.loss, type(model.optimizer),
              model.evaluate(_X, _Y, verbose=0), model.get_weights())

    for own in map(freeze, (
        keras.Sequential([keras.Input([4]), L.Dense(1)], name="own"),
        OfUser(name="own"))):
      own.compile("sgd", "mae")
      search = self.fit({"first": lambda own=own: own, "other": lambda: (
          keras.Sequential([L.Dense(1)]))}, "mae", _X, _Y)
      before = describe(own)
      for model in (search.model, search.network("first"),
                    search.members[0].model):
        self.assertIsNot(own, model)
      np.testing.assert_equal(before, describe(own))
      np.testing.assert_allclose(
          own.predict(_X, verbose=0),
          search.network("first").predict(_X, verbose=0), rtol=1e-6)
    own = freeze(keras.Sequential([keras.Input([4]), L.Dense(1)]))
    search = self.fit(lambda: own, lambda y, output: (y - output) ** 2, _X, _Y)
    self.assertIn("loss", search.model.evaluate(
        _X, _Y, verbose=0, return_dict=True))

  @level.gate
  def test_h5_of_two_members(self):
    models = {"a": lambda: keras.Sequential([L.Dense(4, "tanh"), L.Dense(1)]),
              "b": lambda: keras.Sequential([L.Dense(9, "tanh"), L.Dense(1)])}
    model = self._of_several(models)
    for ending in (".h5", ".keras"):
      self._reloaded(model, ending, compile=False)

  @level.gate
  def test_outputs_of_one_layer(self):
    def siamese():
      i, layer = keras.Input([4]), L.Dense(1, name="d")
      return keras.Model(i, [layer(i), layer(2. * i)])

    search = self.fit(siamese, ["mse", "mae"], _X, [_Y, _Y])
    self.assertLen(search.model.outputs, 2)

  def test_names_of_functions_and_outputs(self):
    def own_loss(y, p):
      return keras.ops.square(y - p)

    def make():
      i = keras.Input([4])
      return keras.Model(i, [L.Dense(1, name=name)(i) for name in "ab"])

    search = self.fit_and_judge(make, [_Y] * 2, {"a": own_loss, "b": "mae"})
    self._reloaded(search.model, compile=False)  # Knows no own_loss.

  @level.gate
  def test_file_of_members_with_the_same_layers(self):
    normalize = L.Normalization()
    normalize.adapt(3 * _X + 1)
    words = L.IntegerLookup(output_mode="count")
    words.adapt(np.arange(-3, 4))
    base = keras.Sequential([keras.Input([4]), L.Dense(
        6, "tanh", kernel_initializer=keras.initializers.GlorotUniform(1))])
    base.trainable = False
    frozen = L.Dense(4, "tanh", trainable=False,
                     kernel_initializer=keras.initializers.GlorotUniform(2))
    frozen.build([None, 4])
    wrapped = lambda: [
        L.Reshape([1, 4]), L.TimeDistributed(frozen), L.Flatten()]

    def functional():
      i = keras.Input([4])
      return keras.Model(i, L.Dense(1)(L.Concatenate()([
          L.Dense(9, "tanh")(base(normalize(i))),
          keras.Sequential(wrapped())(i),
          words(keras.ops.cast(i, "int64"))])))

    self._reloaded(self._of_several({
        "sequential": lambda: keras.Sequential([
            normalize, *wrapped(), base, L.Dense(9, "tanh"), L.Dense(1)]),
        "functional": functional, "other": functional}))

  @level.gate
  def test_held_out_rows_of_another_type(self):
    make = lambda: keras.Sequential([
        keras.Input([4], dtype="int32"), L.Embedding(9, 3), L.Flatten(),
        L.Dense(1)])
    x = np.arange(400).reshape([100, 4]) % 9
    for held_out in (x.astype("int32"), x.astype("float32")):
      self.assertEqual((100, 1), self.fit(
          make, "mse", x, _Y, validation_data=(held_out, _Y)).model(x).shape)

  @level.gate
  def test_ragged_rows_of_vectors(self):
    class Sums(keras.Model):

      def __init__(self):
        super().__init__()
        self.dense = L.Dense(1)

      def call(self, x):
        return self.dense(tf.reduce_sum(
            x.to_tensor() if isinstance(x, tf.RaggedTensor) else x, 1))

    x = tf.RaggedTensor.from_row_lengths(
        tf.constant(_R.randn(200, 3), tf.float32), [1, 3] * 50)
    search = self.fit(Sums, "mse", x, _Y)
    self.assertEqual((100, 1), search.network("a")(x).shape)

  @level.gate
  def test_dicts_of_outputs_in_another_order(self):
    def make_builder(names):
      def make():
        i = keras.Input([4])
        return keras.Model(i, {
            name: L.Dense(1, name=name)(i) for name in names})
      return make

    search = self.fit(
        {"one": make_builder("ab"), "two": make_builder("ba")}, "mse", _X,
        {"a": _Y, "b": 9 - _Y}, epochs=200, search={"optimizer": O.Adam(.1)})
    for network in search.history.networks:
      self.assertLess(network.values["val_loss"], 1, network.name)

  @level.gate
  def test_outputs_go_by_position(self):
    def make_builder(count_first=True, depth=1):
      def make():
        i = h = keras.Input([4])
        for _ in range(depth):
          h = L.Dense(8, "tanh")(h)
        layers = [lambda: L.Dense(1, "relu")(h), lambda: L.Dense(1)(h)]
        if count_first:
          a, b = [make_layer() for make_layer in layers]
        else:
          b, a = [make_layer() for make_layer in layers[::-1]]
        return keras.Model(i, [a, b])
      return make

    y = [np.abs(_X[:, :1]) * 3, _X[:, 1:2] * 3 - 5]
    search = self.fit(
        {"one": make_builder(), "two": make_builder(False),
         "deep": make_builder(depth=2)}, "mse", _X, y, epochs=30,
        search={"optimizer": O.Adam(.05)})
    for network in search.history.networks:
      # 34 and more where outputs are swapped.
      self.assertLess(network.values["val_loss"], 15, network.name)


if __name__ == "__main__":
  absltest.main()
