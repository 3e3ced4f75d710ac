# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models, losses and data as Keras users write them, in a search.

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
from adanet.ensemble_search import models as models_lib
from adanet.testing import keras_searches
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


class ValuesTest(parameterized.TestCase):
  """What a look at a function or a model tells, without a search."""

  @parameterized.parameters(
      (lambda: None, 0), (lambda trial: None, 1), (lambda a, b: None, 2),
      (lambda a=1, *b, c=2, **d: None, 0), (functools.partial(_dense, 3), 0),
      (functools.partial(lambda a, b: None, 1), 1), (dict, 0))
  def test_arguments(self, function, expected):
    self.assertEqual(expected, models_lib.count_arguments(function))

  def test_fixed_size(self):
    self.assertEqual(10, models_lib.fixed_size(keras.Sequential(
        [keras.Input([4], 10), L.Dense(1)])))
    self.assertIsNone(models_lib.fixed_size(keras.Sequential(
        [keras.Input([4]), L.Dense(1)])))
    self.assertIsNone(models_lib.fixed_size(_dense()()))

  def test_copies(self):
    """No two models share an optimizer or a metric."""
    optimizer, metric = O.SGD(.3), keras.metrics.MeanAbsoluteError()
    arguments = models_lib.CompileArguments(
        optimizer, "mse", [metric], weighted_metrics=["mse"])
    models = [models_lib.build_model("name", _dense(), arguments)
              for _ in range(2)]
    for model in models:
      self.assertIsNot(optimizer, model.optimizer)
      self.assertAlmostEqual(.3, float(model.optimizer.learning_rate))
    self.assertIsNot(models[0].optimizer, models[1].optimizer)

  def test_states(self):
    """The states of a model that counts are restored, and seeds are saved."""
    model = keras.Sequential([keras.Input([4]), _Counts(), L.Dropout(.5)])
    with models_lib.kept_states(model):
      model(_X)
      self.assertEqual(1., float(model.layers[0].count.value))
    self.assertEqual(0., float(model.layers[0].count.value))
    seeds = models_lib.unsaved_variables(model)
    self.assertLen(seeds, 1)
    self.assertIs(model.layers[1].seed_generator.state, seeds[0])


class ModelsTest(keras_searches.SearchTestCase):

  @parameterized.parameters(level.first([
      lambda: O.Adam(O.schedules.CosineDecay(.1, 100)),
      lambda: O.SGD(O.schedules.ExponentialDecay(.1, 10, .9)),
      lambda: {"class_name": "Adam", "config": {"learning_rate": .1}},
      lambda: O.AdamW(O.schedules.PiecewiseConstantDecay([5], [.1, .01]))]))
  def test_schedules(self, make):
    search = self.fit(_dense(), "mse", _X, _Y, search={"optimizer": make()})
    self.assertLess(search.history.ensemble["val_loss"], 9)

  @parameterized.parameters(level.first([
      lambda optimizer: optimizer, O.LossScaleOptimizer]))
  def test_own_schedule_of_a_compiled_model(self, wrapped):
    def make():
      model = _dense()()
      model.compile(wrapped(O.SGD(_Schedule())), "mse", loss_weights=[2.])
      return model

    search = self.fit(make, None, _X[:60], _Y[:60],
                       validation_data=(_X[60:], _Y[60:]))
    model = search.network("a")
    model.compile(loss="mse")
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"],
        2 * model.evaluate(_X[60:], _Y[60:], verbose=0), places=4)

  @parameterized.parameters(level.first([255, 0, -1]))
  def test_ignored_class(self, void):
    y = np.where(_R.rand(100) < .6, void, _R.randint(1, 3, 100))
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=void)
    search = self.fit(_dense(3, "softmax"), loss, _X[:60], y[:60],
                       validation_data=(_X[60:], y[60:]))
    kept = y[60:] != void
    p = search.model.predict(_X[60:], verbose=0)
    expected = -np.log(p[np.arange(40), y[60:] % 3])[kept].mean()
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"], expected, places=4)

  @parameterized.parameters(level.first([
      ([100, 5], _SPARSE), ([100, 5, 1], _SPARSE),
      ([100, 5, 3], "categorical_crossentropy")]))
  def test_class_weight_of_sequences(self, shape, loss):
    def make():
      i = keras.Input([4])
      return keras.Model(i, L.Reshape([5, 3])(L.Dense(15, "sigmoid")(i)))

    with self.assertRaisesRegex(ValueError, "^class_weight: expected None, or labels"):
      self.fit(make, loss, _X, np.ones(shape), class_weight={0: 9.})

  @parameterized.parameters(level.first([
      (lambda: _of_global(1.), lambda: _of_global(2.)),
      (lambda: _power(keras.Variable(4.)), lambda: _power(keras.Variable(1.))),
      (lambda: _power(np.array(4.)), lambda: _power(np.array(1.))),
      (lambda: _power(4.), lambda: _power(1.)),
      (lambda: _Quantile(.1), lambda: _Quantile(.9)),
      (lambda: _of_keywords(1.), lambda: _of_keywords(2.)),
      (lambda: _clipped(_Clip(1.)), lambda: _clipped(_Clip(2.))),
      (lambda: keras.losses.Huber(.1), lambda: keras.losses.Huber(9.))]))
  def test_another_loss(self, before, now):
    folder = self.create_tempdir().full_path
    self.fit(_dense(), before(), _X, _Y, search={"directory": folder})
    self.fit(_dense(), before(), _X, _Y, search={"directory": folder})
    with self.assertRaisesRegex(ValueError, "has a search with something else: "
                                "loss"):
      self.fit(_dense(), now(), _X, _Y, search={"directory": folder},
                iterations=2)

  def test_low_precision(self):
    before = keras.config.dtype_policy()
    self.addCleanup(keras.config.set_dtype_policy, before)
    keras.config.set_dtype_policy("mixed_bfloat16")
    self.fit_and_judge(lambda: keras.Sequential([
        L.Dense(4), L.Dense(1, dtype="float32")]))

  @parameterized.parameters(level.first([("adam", "mae"), (O.Adam(.1), "mse")]))
  @level.gate
  def test_compiled_in_another_way(self, optimizer, loss):
    def compiled(*arguments):
      model = _dense()()
      model.compile(*arguments)
      return model

    folder = self.create_tempdir().full_path
    self.fit(lambda: compiled("adam", "mse"), "mse", _X, _Y,
              search={"directory": folder})
    with self.assertRaisesRegex(ValueError, r"models\['a'\] compiles another"):
      self.fit(lambda: compiled(optimizer, loss), "mse", _X, _Y,
                search={"directory": folder})

  def test_a_model_that_its_check_does_not_build(self):

    class Late(keras.Sequential):

      def test_step(self, data):
        return {"loss": keras.ops.mean(data[1])}

    self.fit(lambda: Late([L.Dense(1)]), "mse", _X, _Y)

  @level.gate
  def test_another_seed_inside(self):
    """A function that sets a seed makes what Keras makes of this seed."""
    def seeded():
      keras.utils.set_random_seed(3)
      return keras.Sequential([keras.Input([4]), L.Dense(8), L.Dense(1)])

    def free():
      return keras.Sequential([L.Dense(8), L.Dense(1)])

    with self.assertLogs("absl", "WARNING") as logs:
      search = self.fit({"seeded": seeded, "free": free}, "mse", _X, _Y,
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

  @level.gate
  def test_a_frozen_part_inside_of_a_wrapper(self):
    """Each network has a copy: training changes the seeds of Dropout."""
    inner = keras.Sequential([keras.Input([2]), L.Dense(3), L.Dropout(.3)])
    inner.trainable = False
    make = lambda units: lambda: keras.Sequential([
        keras.Input([2, 2]), L.TimeDistributed(inner), L.Flatten(),
        L.Dense(units), L.Dense(1)])
    before = [np.array(variable) for variable in inner.variables]
    search = self.fit({"a": make(2), "b": make(3)}, "mse", _X.reshape(
        [-1, 2, 2]), _Y)
    self.assertLen(search.history.networks, 2)
    np.testing.assert_equal(before, list(map(np.array, inner.variables)))

  @level.gate
  def test_constants_that_a_function_adapts(self):
    """Each network has its own, which no variable tells."""
    def make():
      scale = L.Normalization()
      scale.adapt(_X[np.random.choice(100, 9)])
      return keras.Sequential([keras.Input([4]), scale, L.Dense(1)])

    search = self.fit_and_judge(make, iterations=2)
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
    fit = lambda iterations: self.fit(
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
      self.fit({"a": scope["make"]}, "mse", _X, _Y, iterations=iterations,
                search={"directory": folder})

    fit(1, text.format(factor=2))
    fit(2, "# A comment.\n\n" + text.format(factor=2))
    with self.assertRaisesRegex(ValueError, "makes another model"):
      fit(3, text.format(factor=3))

  @level.gate
  def test_classes_of_a_dataset_have_weights(self):
    labels = (_X[:, 0] > 0).astype("int32")
    make = lambda: keras.Sequential([keras.Input([4]), L.Dense(2, "softmax")])
    curves = [self.fit(
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
  def test_names_of_directories(self, name):
    folder = os.path.join(self.create_tempdir().full_path, name)
    search = self.fit({name.replace("\\", ""): _dense()}, "mse", _X, _Y,
                       search={"directory": folder})
    search.model.evaluate(_X, _Y, verbose=0)

  def test_files_of_others(self):
    folder = self.create_tempdir().full_path
    self.fit(_dense(), "mse", _X, _Y, search={"directory": folder})
    with open(os.path.join(folder, "networks", ".DS_Store"), "w"):
      pass
    os.remove(os.path.join(folder, "networks", "0-0-a", "held_out.npz"))
    search = self.fit(_dense(), "mse", _X, _Y, search={"directory": folder})
    self.assertLen(search.members, 1)
    with open(os.path.join(folder, "search.json"), "w") as file:
      file.write("{")
    with self.assertRaisesRegex(ValueError, "search.json' cannot be read"):
      self.fit(_dense(), "mse", _X, _Y, search={"directory": folder})

  @level.gate
  def test_relative_directory(self):
    before = os.getcwd()
    self.addCleanup(os.chdir, before)
    os.chdir(self.create_tempdir().full_path)
    search = self.fit(_dense(), "mse", _X, _Y, search={"directory": "run"})
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
      ([keras.metrics.MeanMetricWrapper(lambda t, p: t - p, name="worst")],)]))
  def test_metrics(self, metrics):
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
        search = self.fit(_dense(1, "sigmoid"), "binary_crossentropy", _X, y,
                           search={"metrics": metrics, "directory": folder})
      self.assertLen(search.history.ensemble, 2)
    except ValueError as error:
      self.assertIsNotNone(expected, error)
      self.assertNoTraining(folder)

  def assertNoTraining(self, folder):
    self.assertNotIn("networks", os.listdir(folder))

  def test_kinds_of_data(self):
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
        ("weights", _dense(), lambda: batched(_X, _Y, np.ones(100)))]):
      with self.subTest(name):
        search = self.fit(make, "mse", dataset, validation_data=dataset)
        self.assertLess(search.history.ensemble["val_loss"], 1e4)
        data = dataset() if callable(dataset) else dataset
        if name != "generator":
          self.assertAlmostEqual(
              search.history.ensemble["val_loss"],
              search.model.evaluate(data, verbose=0), places=2)

  @parameterized.parameters(
      (lambda: np.array(["a", "b"] * 50), "^x has text, .* tf.constant"),
      (lambda: np.array([["a"], ["b"]] * 50, object), "^x has text, "))
  def test_what_predict_would_not_take(self, x, expected):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(TypeError, expected):
      self.fit(_dense(), "mse", x(), _Y, search={"directory": folder})
    self.assertNoTraining(folder)

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
      self.fit(make, loss, _X, _Y, search={
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
      self.fit(compiled, None, _X, _Y)
    self.assertIn("by the compiled metrics of models['a']: ", logs.output[0])

  @level.gate
  def test_counts_of_the_best_epoch(self):
    make = lambda: keras.Sequential([keras.Input([4]), _Counts(), L.Dense(1)])
    search = self.fit(make, "mse", _X, _Y, batch_size=32)
    # Three steps, a check, and two predictions that check the function.
    self.assertEqual(6, float(search.network("a").layers[0].count.value))

  @level.gate
  def test_rows_that_depend_on_their_batch(self):
    self.fit_and_judge(lambda: keras.Sequential([
        L.Lambda(lambda x: x - keras.ops.mean(x, 0)), L.Dense(1)]))


if __name__ == "__main__":
  absltest.main()
