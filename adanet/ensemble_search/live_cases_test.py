# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs of Keras users that public reports led to, as rows of a table.

Each is right as in Keras, or refused in one line before the first step.
"""

import functools
import os
import types
import warnings

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.testing import level
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L, O = keras.layers, keras.optimizers
_R = np.random.RandomState(0)
_X = _R.randn(100, 4).astype("float32")
_Y = _X[:, :1] * 2
_SPARSE = "sparse_categorical_crossentropy"
_from = tf.data.Dataset.from_tensor_slices


def _dense(units=1, activation=None):
  return lambda: keras.Sequential([L.Dense(
      units, activation, kernel_initializer=keras.initializers.GlorotUniform(
          1))])


class _Batches(keras.utils.PyDataset):

  def __len__(self):
    return 4

  def __getitem__(self, i):
    return _X[25 * i:25 * i + 25], _Y[25 * i:25 * i + 25]


class _Quantile(keras.losses.Loss):
  """Has no config."""

  def __init__(self, q):
    super().__init__(name="quantile")
    self.q = q

  def call(self, y_true, y_pred):
    e = y_true - y_pred
    return keras.ops.mean(keras.ops.maximum(self.q * e, (self.q - 1) * e), -1)


def _of_global(factor):
  return types.FunctionType(
      (lambda t, p: keras.ops.square(FACTOR * t - p)).__code__,
      dict(globals(), FACTOR=factor))


def _of_keywords(factor):
  def loss(y_true, y_pred, *, factor=factor):
    return keras.ops.square(factor * y_true - y_pred)
  return loss


def _power(exponent):
  def loss(y_true, y_pred):
    return keras.ops.mean(keras.ops.abs(y_true - y_pred) ** exponent, -1)
  return loss


class _Clip(keras.constraints.Constraint):
  """Has the config of its base, which is empty."""

  def __init__(self, limit):
    self.limit = limit

  def __call__(self, w):
    return keras.ops.clip(w, -self.limit, self.limit)


def _clipped(clip):
  return lambda y_true, y_pred: keras.ops.square(clip(y_true - y_pred))


class _Counts(L.Layer):
  """Counts its batches, and returns other values for each count."""

  def build(self, shape):
    self.count = self.add_weight(initializer="zeros", trainable=False)

  def call(self, x):
    self.count.assign_add(1.)
    return x + self.count


class _Schedule(O.schedules.LearningRateSchedule):
  """Has no config."""

  def __call__(self, step):
    return .1


class LiveCasesTest(parameterized.TestCase):

  def _fit(self, models, loss, *data, search=None, **fit):
    if callable(models):
      models = {"a": models}
    new_search = ensemble_search.EnsembleSearch(models, loss, **{**dict(
        seed=1, directory=self.create_tempdir().full_path), **(search or {})})
    return new_search.fit(*data, **{**dict(epochs=1, verbose=0), **fit})

  def _judged(self, models, y=_Y, loss="mse", **fit):
    """Returns a search whose ensemble is judged as Keras judges it."""
    trained = keras.tree.map_structure(lambda array: array[:60], (_X, y))
    held_out = keras.tree.map_structure(lambda array: array[60:], (_X, y))
    search = self._fit(models, loss, *trained, validation_data=held_out, **fit)
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"], search.model.evaluate(
            *held_out, batch_size=256, verbose=0, return_dict=True)["loss"],
        places=4)
    return search

  def _reloaded(self, model, ending=".keras", **arguments):
    """Checks that a model is the same after it was saved and loaded."""
    path = os.path.join(self.create_tempdir().full_path, "model" + ending)
    model.save(path)
    again = keras.models.load_model(path, **arguments)
    keras.tree.map_structure(
        np.testing.assert_array_equal, model.predict(_X, verbose=0),
        again.predict(_X, verbose=0))

  @parameterized.parameters(level.first([
      lambda: O.Adam(O.schedules.CosineDecay(.1, 100)),
      lambda: O.SGD(O.schedules.ExponentialDecay(.1, 10, .9)),
      lambda: {"class_name": "Adam", "config": {"learning_rate": .1}},
      lambda: O.AdamW(O.schedules.PiecewiseConstantDecay([5], [.1, .01]))]))
  def test_01_schedules(self, make):
    search = self._fit(_dense(), "mse", _X, _Y, search={"optimizer": make()})
    self.assertLess(search.history.ensemble["val_loss"], 9)

  @parameterized.parameters(level.first([
      lambda optimizer: optimizer, O.LossScaleOptimizer]))
  def test_01_own_schedule_of_a_compiled_model(self, wrapped):
    def make():
      model = _dense()()
      model.compile(wrapped(O.SGD(_Schedule())), "mse", loss_weights=[2.])
      return model

    search = self._fit(make, None, _X[:60], _Y[:60],
                       validation_data=(_X[60:], _Y[60:]))
    model = search.network("a")
    model.compile(loss="mse")
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"],
        2 * model.evaluate(_X[60:], _Y[60:], verbose=0), places=4)

  @parameterized.parameters(level.first([255, 0, -1]))
  def test_02_ignored_class(self, void):
    y = np.where(_R.rand(100) < .6, void, _R.randint(1, 3, 100))
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=void)
    search = self._fit(_dense(3, "softmax"), loss, _X[:60], y[:60],
                       validation_data=(_X[60:], y[60:]))
    kept = y[60:] != void
    p = search.model.predict(_X[60:], verbose=0)
    expected = -np.log(p[np.arange(40), y[60:] % 3])[kept].mean()
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"], expected, places=4)

  @parameterized.parameters(level.first([
      ("input_1", "input_0"), ("left", "right"), ("input_1", "input_2")]))
  def test_03_a_list_goes_by_position(self, *names):
    def make():
      first, second = (keras.Input([2], name=name) for name in names)
      return keras.Model([first, second], L.Dense(
          1, kernel_initializer=keras.initializers.GlorotUniform(1))(
              L.Concatenate()([first, 100. * second])))

    x = [_X[:, :2], _X[:, 2:]]
    search = self._fit(make, "mse", x, _Y, search={"optimizer": O.SGD(0.)})
    np.testing.assert_allclose(search.model.predict(x, verbose=0),
                               make().predict(x, verbose=0), rtol=1e-5)

  @parameterized.parameters(level.first([
      ([100, 5], _SPARSE), ([100, 5, 1], _SPARSE),
      ([100, 5, 3], "categorical_crossentropy")]))
  def test_04_class_weight_of_sequences(self, shape, loss):
    def make():
      i = keras.Input([4])
      return keras.Model(i, L.Reshape([5, 3])(L.Dense(15, "sigmoid")(i)))

    with self.assertRaisesRegex(ValueError, "^class_weight: y has the shape"):
      self._fit(make, loss, _X, np.ones(shape), class_weight={0: 9.})

  @parameterized.parameters(level.first([
      (lambda: _of_global(1.), lambda: _of_global(2.)),
      (lambda: _power(keras.Variable(4.)), lambda: _power(keras.Variable(1.))),
      (lambda: _power(np.array(4.)), lambda: _power(np.array(1.))),
      (lambda: _power(4.), lambda: _power(1.)),
      (lambda: _Quantile(.1), lambda: _Quantile(.9)),
      (lambda: _of_keywords(1.), lambda: _of_keywords(2.)),
      (lambda: _clipped(_Clip(1.)), lambda: _clipped(_Clip(2.))),
      (lambda: keras.losses.Huber(.1), lambda: keras.losses.Huber(9.))], 2))
  def test_06_another_loss(self, before, now):
    folder = self.create_tempdir().full_path
    self._fit(_dense(), before(), _X, _Y, search={"directory": folder})
    self._fit(_dense(), before(), _X, _Y, search={"directory": folder})
    with self.assertRaisesRegex(ValueError, "has a search with something else: "
                                "loss"):
      self._fit(_dense(), now(), _X, _Y, search={"directory": folder},
                iterations=2)

  def test_low_precision(self):
    before = keras.config.dtype_policy()
    self.addCleanup(keras.config.set_dtype_policy, before)
    keras.config.set_dtype_policy("mixed_bfloat16")
    self._judged(lambda: keras.Sequential([
        L.Dense(4), L.Dense(1, dtype="float32")]))

  @parameterized.parameters(level.first([("adam", "mae"), (O.Adam(.1), "mse")]))
  @level.gate
  def test_06_compiled_in_another_way(self, optimizer, loss):
    def compiled(*arguments):
      model = _dense()()
      model.compile(*arguments)
      return model

    folder = self.create_tempdir().full_path
    self._fit(lambda: compiled("adam", "mse"), "mse", _X, _Y,
              search={"directory": folder})
    with self.assertRaisesRegex(ValueError, r"models\['a'\] compiles another"):
      self._fit(lambda: compiled(optimizer, loss), "mse", _X, _Y,
                search={"directory": folder})

  def test_a_model_that_its_check_does_not_build(self):

    class Late(keras.Sequential):

      def test_step(self, data):
        return {"loss": keras.ops.mean(data[1])}

    self._fit(lambda: Late([L.Dense(1)]), "mse", _X, _Y)

  @level.gate
  def test_another_seed_inside(self):
    """A function that sets a seed makes what Keras makes of this seed."""
    def seeded():
      keras.utils.set_random_seed(3)
      return keras.Sequential([keras.Input([4]), L.Dense(8), L.Dense(1)])

    def free():
      return keras.Sequential([L.Dense(8), L.Dense(1)])

    with self.assertLogs("absl", "WARNING") as logs:
      search = self._fit({"seeded": seeded, "free": free}, "mse", _X, _Y,
                         iterations=4, search={"optimizer": O.SGD(0.)})
    self.assertLen(logs.output, 1)
    self.assertIn("models['seeded'] makes the same network in each iteration",
                  logs.output[0])
    self.assertEqual(
        ["seeded", "free", "seeded (2)", "free (2)", "free (3)", "free (4)"],
        [network.name for network in search.history.networks])
    np.testing.assert_equal(
        seeded().get_weights(), search.network("seeded").get_weights())
    # The first two may be of an earlier call.
    folder = self.create_tempdir().full_path
    for iterations in (2, 4):
      search = ensemble_search.EnsembleSearch(
          {"seeded": seeded, "free": free}, "mse", directory=folder, seed=1)
      search.fit(_X, _Y, epochs=1, iterations=iterations, verbose=0)
    self.assertNotIn("seeded (3)", [
        network.name for network in search.history.networks])

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
  ], 2))
  def test_any_length_that_all_members_take(self, x, axes, make):
    search = self._fit({"a": make, "b": make}, "mse", x, _Y, iterations=2)
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

    search = self._fit(make, "mse", structure(
        _R.rand(100, 5, 2), _R.rand(100, 3)), _Y)
    longer = structure(_R.rand(3, 9, 2), _R.rand(3, 3))
    self.assertEqual((3, 1), search.model.predict(longer, verbose=0).shape)

  def test_keys_that_are_no_names_of_tensors(self):
    def make():
      a, b = keras.Input([2]), keras.Input([2])
      return keras.Model({"a/b": a, "c": b}, L.Dense(1)(a + b))

    x = {"a/b": _X[:, :2], "c": _X[:, 2:]}
    self.assertEqual((100, 1), self._fit(make, "mse", x, _Y).model.predict(
        x, verbose=0).shape)

  @parameterized.named_parameters(
      ("list", lambda x, y: [x, y]),
      ("dict", lambda x, y: {"ids": x, "types": y}))
  def test_inputs_of_the_same_length(self, structure):
    def make():
      ids, types = (keras.Input([None], dtype="int32", name=name)
                    for name in ("ids", "types"))
      return keras.Model(structure(ids, types), L.Dense(1)(
          L.GlobalMaxPooling1D()(L.Embedding(9, 2)(ids) + L.Embedding(2, 2)(
              types))))

    rows = lambda count, length: structure(
        *(_R.randint(kinds, size=[count, length]) for kinds in (9, 2)))
    search = self._fit(make, "mse", rows(100, 5), _Y)
    self.assertEqual((3, 1), search.model.predict(rows(3, 7), verbose=0).shape)

  @level.gate
  def test_any_length_of_one_member_alone(self):
    def make(length):
      return lambda: keras.Model(i := keras.Input([length, 2]), L.Dense(1)(
          L.GlobalMaxPooling1D()(i)))

    search = self._fit({"a": make(None), "b": make(5)}, "mse",
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
    expected = self._fit(make, "mse", _X, _Y, search={
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
    self._fit(OfUser, "mse", _X, _Y, search={"directory": folder})
    scale.adapt(5 * _X)
    before = [np.array(value) for value in scale.get_weights()]
    search = ensemble_search.EnsembleSearch({"a": OfUser}, directory=folder)
    with self.assertRaisesRegex(
        ValueError, "the layer normalization.* outside of the function has oth"):
      print(search.model)
    np.testing.assert_equal(before, scale.get_weights())

  @level.gate
  def test_a_frozen_part_inside_of_a_wrapper(self):
    """Each network has a copy: training changes the seeds of Dropout."""
    inner = keras.Sequential([keras.Input([2]), L.Dense(3), L.Dropout(.3)])
    inner.trainable = False
    make = lambda units: lambda: keras.Sequential([
        keras.Input([2, 2]), L.TimeDistributed(inner), L.Flatten(),
        L.Dense(units), L.Dense(1)])
    before = [np.array(variable) for variable in inner.variables]
    search = self._fit({"a": make(2), "b": make(3)}, "mse", _X.reshape(
        [-1, 2, 2]), _Y)
    self.assertLen(search.history.networks, 2)
    np.testing.assert_equal(before, list(map(np.array, inner.variables)))

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
      search = self._fit({"first": lambda own=own: own, "other": lambda: (
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
    search = self._fit(lambda: own, lambda y, output: (y - output) ** 2, _X, _Y)
    self.assertIn("loss", search.model.evaluate(
        _X, _Y, verbose=0, return_dict=True))

  @level.gate
  def test_constants_that_a_function_adapts(self):
    """Each network has its own, which no variable tells."""
    def make():
      scale = L.Normalization()
      scale.adapt(_X[np.random.choice(100, 9)])
      return keras.Sequential([keras.Input([4]), scale, L.Dense(1)])

    search = self._judged(make, iterations=2)
    for network in search.history.networks:
      self.assertAlmostEqual(
          network.own_val_loss, search.network(network.name).evaluate(
              _X[60:], _Y[60:], verbose=0), places=4)

  @level.gate
  def test_widths_that_a_function_draws(self):
    """More iterations are the same search."""
    make = lambda: keras.Sequential([keras.Input([4]), L.Dense(
        np.random.randint(1, 99)), L.Dense(1)])
    folder = self.create_tempdir().full_path
    fit = lambda iterations: self._fit(
        {"a": make}, "mse", _X, _Y, iterations=iterations,
        search={"directory": folder})
    fit(1)
    sizes = {network.parameters for network in fit(3).history.networks}
    self.assertLen(sizes, 3)

  @level.gate
  def test_lines_of_a_lambda_are_no_part_of_a_model(self):
    text = """
make = lambda: keras.Sequential([
    keras.Input([4]), L.Lambda(lambda x: {factor} * x), L.Dense(1)])
"""
    folder = self.create_tempdir().full_path

    def fit(iterations, text):
      scope = {"keras": keras, "L": L}
      exec(text, scope)  # pylint: disable=exec-used
      self._fit({"a": scope["make"]}, "mse", _X, _Y, iterations=iterations,
                search={"directory": folder})

    fit(1, text.format(factor=2))
    fit(2, "# A comment.\n\n" + text.format(factor=2))
    with self.assertRaisesRegex(ValueError, "makes another model"):
      fit(3, text.format(factor=3))

  @level.gate
  def test_classes_of_a_dataset_have_weights(self):
    labels = (_X[:, 0] > 0).astype("int32")
    make = lambda: keras.Sequential([keras.Input([4]), L.Dense(2, "softmax")])
    curves = [self._fit(
        make, _SPARSE, *data, validation_data=(_X, labels), epochs=3,
        **fit).history.networks[0].epochs for data, fit in (
            ((lambda: _from((_X, labels)).batch(20),), {
                "class_weight": {0: 5.}}),
            ((lambda: _from((_X, labels, np.where(labels, 1., 5.).astype(
                "float32"))).batch(20),), {}),
            ((lambda: _from((_X, labels)).batch(20),), {}))]
    self.assertEqual([logs["loss"] for logs in curves[0]],
                     [logs["loss"] for logs in curves[1]])
    self.assertNotEqual(curves[0][0]["loss"], curves[2][0]["loss"])

  @level.gate
  @parameterized.parameters(level.first([
      "lr[0.1]", "units=[8, 8]", "a\\b", "50%", "ä é"]))
  def test_08_names_of_directories(self, name):
    folder = os.path.join(self.create_tempdir().full_path, name)
    search = self._fit({name.replace("\\", ""): _dense()}, "mse", _X, _Y,
                       search={"directory": folder})
    search.model.evaluate(_X, _Y, verbose=0)

  def test_08_files_of_others(self):
    folder = self.create_tempdir().full_path
    self._fit(_dense(), "mse", _X, _Y, search={"directory": folder})
    with open(os.path.join(folder, "networks", ".DS_Store"), "w"):
      pass
    os.remove(os.path.join(folder, "networks", "0-0-a", "held_out.npz"))
    search = self._fit(_dense(), "mse", _X, _Y, search={"directory": folder})
    self.assertLen(search.members, 1)
    with open(os.path.join(folder, "search.json"), "w") as file:
      file.write("{")
    with self.assertRaisesRegex(ValueError, "search.json' cannot be read"):
      self._fit(_dense(), "mse", _X, _Y, search={"directory": folder})

  @level.gate
  def test_09_relative_directory(self):
    before = os.getcwd()
    self.addCleanup(os.chdir, before)
    os.chdir(self.create_tempdir().full_path)
    search = self._fit(_dense(), "mse", _X, _Y, search={"directory": "run"})
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    search.model.evaluate(_X, _Y, verbose=0)
    search.fit(_X, _Y, epochs=1, iterations=2, verbose=0)
    self.assertLen(search.history.networks, 2)
    self.assertEmpty(os.listdir("."))

  @parameterized.parameters(level.first([
      ([lambda t, p: keras.ops.max(keras.ops.abs(t - p), -1)],),
      ([functools.partial(keras.losses.binary_focal_crossentropy, gamma=1.)],),
      ([["mae"]],), ([keras.metrics.MeanSquaredError(name="my mse (%)")],),
      ([keras.metrics.MeanMetricWrapper(lambda t, p: t - p, name="worst")],)],
                                         2))
  def test_10_metrics(self, metrics):
    y = (_Y > 0).astype("float32")
    model = _dense(1, "sigmoid")()
    model.compile("adam", "binary_crossentropy", metrics=list(metrics))
    expected = None
    try:
      model.fit(_X, y, verbose=0)
    except Exception as error:  # pylint: disable=broad-except
      expected = error
    folder = self.create_tempdir().full_path
    try:
      with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*`lambda`")
        search = self._fit(_dense(1, "sigmoid"), "binary_crossentropy", _X, y,
                           search={"metrics": metrics, "directory": folder})
      self.assertLen(search.history.ensemble, 2)
    except ValueError as error:
      self.assertIsNotNone(expected, error)
      self.assertNoTraining(folder)

  def assertNoTraining(self, folder):
    self.assertNotIn("networks", os.listdir(folder))

  def test_11_and_12_kinds_of_data(self):
    normalize = L.Normalization()
    normalize.adapt(_X)
    tensors = tf.constant(_X), tf.constant(_Y)
    rows = tf.ragged.constant([[float(i)] * (1 + i % 5) for i in range(100)])
    batched = lambda *parts: _from(parts).batch(32)
    average = lambda: keras.Sequential([
        keras.Input([None], ragged=True), L.Lambda(
            lambda t: tf.reduce_mean(t, 1, keepdims=True),
            output_shape=lambda shape: (shape[0], 1)), L.Dense(1)])
    of_dict = lambda: keras.Model({"a": (i := keras.Input([4]))},
                                  L.Dense(1)(i))

    def nested():
      first, second = keras.Input([4]), keras.Input([4])
      return keras.Model({"a": {"b": first}, "c": (second,)},
                         L.Dense(1)(L.Add()([first, second])))

    for name, make, dataset in level.first([
        ("dataset", _dense(), batched(_X, _Y)),
        ("PyDataset", _dense(), _Batches()),
        ("function", _dense(), lambda: batched(_X, _Y)),
        ("tensors", _dense(), lambda: batched(*tensors)),
        ("layer", _dense(), lambda: batched(_X, _Y).map(
            lambda a, b: (normalize(a), b))),
        ("generator", _dense(), lambda: (
            (_X[i:i + 10], _Y[i:i + 10]) for i in range(0, 100, 10))),
        ("sparse", lambda: keras.Sequential([
            keras.Input([4], sparse=True), L.Dense(1)]),
         lambda: batched(tf.sparse.from_dense(_X), _Y)),
        ("ragged", average, lambda: batched(rows, _Y)),
        ("dict", of_dict, lambda: _from(({"a": _X}, _Y)).batch(32)),
        ("nested", nested, lambda: _from((
            {"a": {"b": _X}, "c": (_X,)}, _Y)).batch(32)),
        ("padded", lambda: keras.Sequential([
            L.Embedding(9, 3), L.GlobalAveragePooling1D(), L.Dense(1)]),
         lambda: tf.data.Dataset.range(60).map(
             lambda i: (tf.ones([1 + i % 7], tf.int64), [1.])).padded_batch(7)),
        ("weights", _dense(), lambda: batched(_X, _Y, np.ones(100)))], 2):
      with self.subTest(name):
        search = self._fit(make, "mse", dataset, validation_data=dataset)
        self.assertLess(search.history.ensemble["val_loss"], 1e4)
        data = dataset() if callable(dataset) else dataset
        if name != "generator":
          self.assertAlmostEqual(
              search.history.ensemble["val_loss"],
              search.model.evaluate(data, verbose=0), places=2)

  def _of_several(self, models):
    """Returns the ensemble, of several members, judged as Keras judges it."""
    search = self._judged(models, _Y * _X[:, 1:2], epochs=6, iterations=2,
                          search={"optimizer": O.Adam(.05)})
    self.assertGreater(len(search.members), 1)
    return search.model

  @level.gate
  def test_16_h5_of_two_members(self):
    models = {"a": lambda: keras.Sequential([L.Dense(4, "tanh"), L.Dense(1)]),
              "b": lambda: keras.Sequential([L.Dense(9, "tanh"), L.Dense(1)])}
    model = self._of_several(models)
    for ending in (".h5", ".keras"):
      self._reloaded(model, ending, compile=False)

  @parameterized.parameters(
      (lambda: np.array(["a", "b"] * 50), "^x has text, .* tf.constant"),
      (lambda: np.array([["a"], ["b"]] * 50, object), "^x has text, "))
  def test_19_what_predict_would_not_take(self, x, expected):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(TypeError, expected):
      self._fit(_dense(), "mse", x(), _Y, search={"directory": folder})
    self.assertNoTraining(folder)

  @level.gate
  def test_20_outputs_of_one_layer(self):
    def siamese():
      i, layer = keras.Input([4]), L.Dense(1, name="d")
      return keras.Model(i, [layer(i), layer(2. * i)])

    search = self._fit(siamese, ["mse", "mae"], _X, [_Y, _Y])
    self.assertLen(search.model.outputs, 2)

  def test_names_of_functions_and_outputs(self):
    def own_loss(y, p):
      return keras.ops.square(y - p)

    def make():
      i = keras.Input([4])
      return keras.Model(i, [L.Dense(1, name=name)(i) for name in "ab"])

    search = self._judged(make, [_Y] * 2, {"a": own_loss, "b": "mae"})
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
  def test_metrics_that_a_directory_has(self):
    own = lambda t, p: t - p
    own.__name__ = "own"

    def compiled():
      model = _dense()()
      # As the tasks of KerasHub.
      model.compile("adam", "mse", metrics=["mae"], weighted_metrics=["mse"])
      return model

    for make, loss, metrics, expected in (
        (compiled, None, None, ["loss", "mae", "mse"]),
        (_dense(), "mse", ("mae", "mse"), ["loss", "mae", "mse"]),
        (_dense(), "mse", ["mae", own], None)):
      folder = self.create_tempdir().full_path
      self._fit(make, loss, _X, _Y, search={
          "metrics": metrics, "directory": folder})
      load = lambda folder=folder, make=make: (
          ensemble_search.EnsembleSearch({"a": make}, directory=folder).model.
          evaluate(_X, _Y, verbose=0, return_dict=True))
      if expected is None:
        with self.assertRaisesRegex(ValueError, "^metrics=None: .* has own, "):
          load()
      else:
        self.assertEqual(expected, sorted(load()))

  def test_compiled_metric_of_a_user(self):

    class OwnMetric(keras.metrics.MeanSquaredError):
      pass

    def compiled():
      model = _dense()()
      model.compile("adam", "mse", metrics=[OwnMetric(), "mae"])
      return model

    with self.assertLogs("absl", "WARNING") as logs:
      self._fit(compiled, None, _X, _Y)
    self.assertIn("by the compiled metrics of models['a']: ", logs.output[0])

  @level.gate
  def test_held_out_rows_of_another_type(self):
    make = lambda: keras.Sequential([
        keras.Input([4], dtype="int32"), L.Embedding(9, 3), L.Flatten(),
        L.Dense(1)])
    x = np.arange(400).reshape([100, 4]) % 9
    for held_out in (x.astype("int32"), x.astype("float32")):
      self.assertEqual((100, 1), self._fit(
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
    search = self._fit(Sums, "mse", x, _Y)
    self.assertEqual((100, 1), search.network("a")(x).shape)

  @level.gate
  def test_dicts_of_outputs_in_another_order(self):
    def make_builder(names):
      def make():
        i = keras.Input([4])
        return keras.Model(i, {
            name: L.Dense(1, name=name)(i) for name in names})
      return make

    search = self._fit(
        {"one": make_builder("ab"), "two": make_builder("ba")}, "mse", _X,
        {"a": _Y, "b": 9 - _Y}, epochs=200, search={"optimizer": O.Adam(.1)})
    for network in search.history.networks:
      self.assertLess(network.values["val_loss"], 1, network.name)

  @level.gate
  def test_counts_of_the_best_epoch(self):
    make = lambda: keras.Sequential([keras.Input([4]), _Counts(), L.Dense(1)])
    search = self._fit(make, "mse", _X, _Y, batch_size=32)
    # Three steps, a check, and two predictions that check the function.
    self.assertEqual(6, float(search.network("a").layers[0].count.value))

  @level.gate
  def test_rows_that_depend_on_their_batch(self):
    self._judged(lambda: keras.Sequential([
        L.Lambda(lambda x: x - keras.ops.mean(x, 0)), L.Dense(1)]))

  @level.gate
  def test_22_outputs_go_by_position(self):
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
    search = self._fit(
        {"one": make_builder(), "two": make_builder(False),
         "deep": make_builder(depth=2)}, "mse", _X, y, epochs=30,
        search={"optimizer": O.Adam(.05)})
    for network in search.history.networks:
      # 34 and more where outputs are swapped.
      self.assertLess(network.values["val_loss"], 15, network.name)


if __name__ == "__main__":
  absltest.main()
