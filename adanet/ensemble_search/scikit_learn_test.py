# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The classifier and the regressor: by scikit-learn's rules, as users do."""

from concurrent import futures
import copy
import functools
import gc
import os
import pickle
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.testing import level
from adanet.testing import processes
import joblib  # scikit-learn's own.
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import base
from sklearn import calibration
from sklearn import ensemble
from sklearn import exceptions
from sklearn import inspection
from sklearn import linear_model
from sklearn import model_selection
from sklearn import pipeline
from sklearn import preprocessing
from sklearn.utils import estimator_checks

keras = tf_compat.keras_3
L = keras.layers
_R = np.random.RandomState(0)
_X = _R.randn(90, 4)
_CLASSES = (_X[:, 0] > .3).astype(int) + (_X[:, 1] > 0)
_LABELS = np.array(["low", "middle", "high"])[_CLASSES]
_TARGETS = _X @ [[1., 2.], [0., 1.], [3., 0.], [-1., 1.]]
_SPARSE = "sparse_categorical_crossentropy"
_OPTIONS = {"epochs": 3, "seed": 1}
# Checks of scikit-learn that fail, and why.
_WEIGHTS = ("a row of weight 0 counts when rows are held out, and divided into "
            "batches")
_FAILED = {
    "EnsembleClassifier": {
        "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
    },
    "EnsembleRegressor": {
        "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
        "check_regressor_multioutput":
            "the models have the number of outputs that the user has written",
    },
}
# A search takes 0.5 s, and these do many: each is for one of the two classes.
_SLOW = {
    "EnsembleClassifier": "check_estimator_sparse_matrix",
    "EnsembleRegressor": "check_estimator_sparse_array",
}
_QUICK = (
    "check_estimator_cloneable", "check_estimator_tags_renamed",
    "check_no_attributes_set_in_init", "check_parameters_default_constructible",
    "check_set_params", "check_get_params_invariance",
    "check_estimators_unfitted", "check_fit1d", "check_fit2d_1sample",
    "check_requires_y_none", "check_all_zero_sample_weights_error",
    "check_dict_unchanged", "check_n_features_in_after_fitting")


# Words of the names of checks that tell a regressor from a classifier.
_OF_REGRESSORS = ("regressor", "sample_weight", "supervised")


def make(*layers, outputs=3, activation="softmax"):
  """Returns a function of a model that ends in `outputs`."""
  return lambda: keras.Sequential([
      *(make_layer() for make_layer in layers),
      L.Dense(outputs, activation)])


def classifier(*layers, loss=None, outputs=3, activation="softmax", **options):
  return adanet.EnsembleClassifier(
      {"a": make(*layers, outputs=outputs, activation=activation)}, loss,
      optimizer=keras.optimizers.Adam(.03), **{**_OPTIONS, **options})


def regressor(outputs=1, **options):
  return adanet.EnsembleRegressor(
      [make(outputs=outputs, activation=None)],
      optimizer=keras.optimizers.Adam(.1), **{**_OPTIONS, **options})


def compiled(loss):
  model = make()()
  model.compile("sgd", loss)
  return model


def space(trial):
  model = make(lambda: L.Dense(trial.suggest_int("width", 2, 8)))()
  model.compile("adam", _SPARSE)
  return model


def of_classes():
  return make(outputs=10)()


def of_numbers():
  return make(outputs=1, activation=None)()


class Scale(L.Layer):
  """Known to this program alone."""

  def call(self, inputs):
    return 2 * inputs


@keras.saving.register_keras_serializable("scikit_learn_test")
class RegisteredScale(L.Layer):

  def call(self, inputs):
    return .5 * inputs


def own_loss(y_true, y_pred):
  return keras.losses.sparse_categorical_crossentropy(y_true, y_pred)


class ClassifierTest(parameterized.TestCase):

  def test_is_the_search(self):
    directory = self.create_tempdir().full_path
    search = adanet.EnsembleSearch(
        {"a": make()}, _SPARSE, optimizer=keras.optimizers.Adam(.03),
        directory=directory, seed=1)
    search.fit(_X, _CLASSES, epochs=3, verbose=0)
    expected = search.model.predict(_X, verbose=0)
    fitted = classifier().fit(_X, _LABELS)
    np.testing.assert_array_equal(["high", "low", "middle"], fitted.classes_)
    other = classifier().fit(_X, _CLASSES)
    np.testing.assert_allclose(expected, other.predict_proba(_X), atol=1e-6)
    np.testing.assert_array_equal(
        expected.argmax(1), other.predict(_X))
    self.assertEqual(4, other.n_features_in_)
    self.assertLen(other.search_.leaderboard(), 2)

  @parameterized.parameters(level.first([
      (np.array(["no", "yes"]), {"outputs": 1, "activation": "sigmoid"}),
      (np.array([-1., 1.]), {"outputs": 2}),
      (np.array(["no", "yes"], object), {
          "outputs": 1, "activation": None,
          "loss": keras.losses.BinaryCrossentropy(from_logits=True)}),
      (np.array([False, True]), {
          "outputs": 5, "activation": None,
          "loss": keras.losses.SparseCategoricalCrossentropy(
              from_logits=True)}),
      (np.array([7, 3]), {
          "outputs": 5, "metrics": ["accuracy"],
          "loss": keras.losses.CategoricalCrossentropy(label_smoothing=.1)}),
      (np.array(["no", "yes"]), {"loss": own_loss}),
  ]))
  def test_labels_outputs_and_losses(self, labels, options):
    y = labels[(_X[:, 0] > 0).astype(int)]
    fitted = classifier(**{"epochs": 30, **options}).fit(_X, y)
    np.testing.assert_array_equal(np.unique(labels), fitted.classes_)
    probabilities = fitted.predict_proba(_X)
    self.assertEqual((90, 2), probabilities.shape)
    np.testing.assert_allclose(1, probabilities.sum(1), rtol=1e-6)
    self.assertGreaterEqual(probabilities.min(), 0)
    self.assertGreater(fitted.score(_X, y), .8)
    self.assertEqual(labels.dtype, fitted.predict(_X[:2]).dtype)

  def test_compiled_models(self):
    models = {"a": functools.partial(
        compiled, keras.losses.CategoricalCrossentropy())}
    fitted = adanet.EnsembleClassifier(models, **_OPTIONS).fit(_X, _LABELS)
    self.assertEqual((90, 3), fitted.predict_proba(_X).shape)
    self.assertIsInstance(
        fitted.model_.loss, keras.losses.CategoricalCrossentropy)

  @level.gate
  def test_function_of_a_trial(self):
    fitted = adanet.EnsembleClassifier([space], trials=2, **_OPTIONS).fit(
        _X, _LABELS)
    self.assertLen(fitted.search_.study("space").trials, 2)

  @parameterized.parameters(
      ({"outputs": 2}, r"models\['a'\] returns 2 outputs, and y has 3 classes"),
      ({"outputs": 1}, r"models\['a'\] returns 1 output, and y has 3 classes"),
      ({"loss": "binary_crossentropy"}, "3 outputs, and the loss is binary_"),
      ({"activation": None}, "returns numbers that are no probabilities"),
      ({"class_weight": {"none": 2}}, "are not in class_weight"),
      ({"epochs": 0}, "epochs=0"),
      ({"patience": None}, "patience=None"),
  )
  def test_mistakes_of_parameters(self, options, message):
    with self.assertRaisesRegex((TypeError, ValueError), message) as raised:
      classifier(**options).fit(_X, _LABELS)
    self.assertNotIn("\n", str(raised.exception))

  def test_mistakes(self):
    for models, message in (
        ([lambda: keras.Sequential([L.Reshape([2, 2])])],
         r"returns \[None, 2, 2\]: expected a single output"),
        ([lambda: keras.Sequential([keras.Input([3]), L.Dense(3)])],
         "incompatible"),
        ([lambda: None], "returned None"), (None, "models is None")):
      with self.assertRaisesRegex((TypeError, ValueError), message):
        adanet.EnsembleClassifier(models).fit(_X, _LABELS)
    with self.assertRaisesRegex(ValueError, "the class 'a' alone"):
      classifier().fit(_X, ["a"] * 90)
    for weights, message in (([1] * 89, "inconsistent numbers of samples"),
                             ([0] * 90, "zero for each row")):
      with self.assertRaisesRegex(ValueError, message):
        classifier().fit(_X, _LABELS, weights)
    with self.assertRaises(exceptions.NotFittedError):
      classifier().predict(_X)
    with self.assertRaises(exceptions.NotFittedError):
      print(classifier().search_)

  @level.gate
  def test_weights_of_classes_and_rows(self):
    weights = np.where(_LABELS == "low", 3., 1.) * (1 + _CLASSES)
    first = classifier().fit(_X, _LABELS, weights)
    second = classifier(class_weight={"low": 3, "middle": 1, "high": 1}).fit(
        _X, _LABELS, 1 + _CLASSES)
    np.testing.assert_array_equal(
        first.predict_proba(_X), second.predict_proba(_X))
    other = classifier(class_weight="balanced").fit(_X, _LABELS)
    self.assertGreater(np.abs(
        first.predict_proba(_X) - other.predict_proba(_X)).max(), 0)

  @level.gate
  def test_folds_of_a_splitter(self):
    splitter = model_selection.StratifiedKFold(3)
    first, second = (
        classifier(folds=folds).fit(_X, _LABELS).predict_proba(_X)
        for folds in (splitter, list(splitter.split(_X, _LABELS))))
    np.testing.assert_array_equal(first, second)

  @level.gate
  def test_images_and_sparse_matrices(self):
    images = _X.reshape(90, 2, 2, 1)
    fitted = classifier(L.Flatten).fit(images, _LABELS)
    self.assertEqual((90,), fitted.predict(images).shape)
    matrix = sparse.csr_matrix(np.round(_X))
    fitted = classifier().fit(matrix, _LABELS)
    np.testing.assert_allclose(
        fitted.predict_proba(matrix.toarray()), fitted.predict_proba(matrix),
        rtol=1e-5)

  @level.gate
  def test_more_rows_than_a_batch(self):
    fitted = classifier().fit(_X, _LABELS)
    many = np.tile(_X, [12, 1])
    np.testing.assert_allclose(
        np.tile(fitted.predict_proba(_X), [12, 1]), fitted.predict_proba(many),
        rtol=1e-5)

  @level.gate
  def test_output_that_is_not_finite(self):
    fitted = classifier(lambda: L.Rescaling(1e30)).fit(
        np.zeros([90, 4]), _LABELS)
    with self.assertRaisesRegex(ValueError, "NaN or infinity for 1 of 2 rows"):
      fitted.predict(np.array([[0.] * 4, [3e38] * 4]))


class RegressorTest(parameterized.TestCase):

  @parameterized.parameters(level.first(
      [([90], 1), ([90, 1], 1), ([90, 2], 2)]))
  def test_shapes(self, shape, outputs):
    y = _TARGETS[:, :outputs].reshape(shape)
    fitted = regressor(outputs, epochs=40).fit(_X, y)
    self.assertEqual(y.shape, fitted.predict(_X).shape)
    self.assertGreater(fitted.score(_X, y), .9)

  @level.gate
  def test_output_of_rows_alone(self):
    fitted = adanet.EnsembleRegressor(
        [lambda: keras.Sequential([L.Dense(1), L.Reshape([])])], **_OPTIONS)
    self.assertEqual((90,), fitted.fit(_X, _TARGETS[:, 0]).predict(_X).shape)

  def test_other_number_of_outputs(self):
    with self.assertRaisesRegex(
        ValueError, "returns 1 output, and y has 2 columns"):
      regressor().fit(_X, _TARGETS)

  @level.gate
  def test_check_of_several_outputs(self):
    estimator_checks.check_regressor_multioutput(
        "EnsembleRegressor", regressor(5))


class FrameTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._frame = pd.DataFrame(_X, columns=list("abcd"))

  @level.gate
  def test_numbers(self):
    fitted = classifier().fit(self._frame, pd.Series(_LABELS))
    self.assertEqual(list("abcd"), list(fitted.feature_names_in_))
    np.testing.assert_array_equal(
        fitted.predict(self._frame), classifier().fit(_X, _LABELS).predict(_X))
    with self.assertRaisesRegex(ValueError, "same order"):
      fitted.predict(self._frame[list("bacd")])

  @level.gate
  def test_text(self):
    frame = self._frame[["a"]].assign(city=np.where(_X[:, 1] > 0, "x", "y"))

    def of_columns():
      inputs = {"a": keras.Input([1], name="a"),
                "city": keras.Input([1], name="city", dtype="string")}
      city = L.StringLookup(vocabulary=["x", "y"], output_mode="one_hot")(
          inputs["city"])
      return keras.Model(inputs, L.Dense(3, "softmax")(
          L.Concatenate()([inputs["a"], city])))

    fitted = adanet.EnsembleClassifier([of_columns], **_OPTIONS)
    scores = model_selection.cross_val_score(fitted, frame, _LABELS, cv=2)
    self.assertLen(scores, 2)
    fitted.fit(frame, _LABELS)
    self.assertEqual(["a", "city"], list(fitted.feature_names_in_))
    np.testing.assert_allclose(
        fitted.predict_proba(frame), fitted.search_.model.predict(
            adanet.columns(frame), verbose=0), rtol=1e-5)
    with self.assertRaisesRegex((TypeError, ValueError), "expected a pandas"):
      fitted.predict(frame.to_numpy())
    with self.assertRaisesRegex(ValueError, "feature names"):
      fitted.predict(frame.rename(columns={"city": "town"}))


class DirectoryTest(absltest.TestCase):

  def test_each_fit_has_a_folder(self):
    directory = self.create_tempdir().full_path
    estimator = classifier(directory=directory, epochs=1)
    scores = model_selection.cross_val_score(estimator, _X, _LABELS, cv=2)
    folders = sorted(os.listdir(directory))
    self.assertLen(folders, 2)
    # The same fits have their networks already.
    with mock.patch.object(keras.Model, "train_step", side_effect=ValueError):
      np.testing.assert_array_equal(scores, model_selection.cross_val_score(
          estimator, _X, _LABELS, cv=2))
    self.assertEqual(folders, sorted(os.listdir(directory)))
    grid = model_selection.GridSearchCV(
        estimator, {"patience": [1], "models": [
            {"a": make(outputs=outputs)} for outputs in (3, 4)]},
        cv=2, refit=False, error_score="raise").fit(_X, _LABELS)
    self.assertLen(grid.cv_results_["params"], 2)
    self.assertLen(os.listdir(directory), 2 + 4)

  def test_temporary_folder_goes_with_the_search(self):
    fitted = classifier().fit(_X, _LABELS)
    folder, search = fitted.directory_, fitted.search_
    del fitted
    gc.collect()
    self.assertLen(search.leaderboard(), 2)
    del search
    gc.collect()
    self.assertFalse(os.path.exists(folder))


class CopyTest(absltest.TestCase):

  def test_executor_and_clones(self):
    with futures.ThreadPoolExecutor(1) as executor:
      first = classifier(executor=executor).set_params(patience=2)
      second = base.clone(first)
      self.assertIs(executor, second.executor)
      self.assertIs(executor, first.executor)
      self.assertEqual(2, second.patience)
      second.fit(_X, _LABELS)
      for other in (copy.deepcopy(second), copy.copy(second)):
        np.testing.assert_array_equal(
            second.predict_proba(_X), other.predict_proba(_X))
      self.assertIsNone(copy.deepcopy(second).executor)

  def test_subclass_with_parameters_of_its_own(self):

    class Own(adanet.EnsembleClassifier):

      def __init__(self, width=3):
        super().__init__({"a": lambda: None}, epochs=1)
        self.width = width

    self.assertEqual((4, 1), (Own(4).width, Own(4).epochs))
    self.assertEqual({"width": 3}, Own().get_params())

  def test_pickle_in_the_same_place(self):
    directory = self.create_tempdir().full_path
    fitted = classifier(directory=directory).fit(_X, _LABELS)
    loaded = pickle.loads(pickle.dumps(fitted))
    self.assertEqual(fitted.search_.leaderboard().to_string(),
                     loaded.search_.leaderboard().to_string())
    loaded = pickle.loads(pickle.dumps(classifier().fit(_X, _LABELS)))
    with self.assertRaisesRegex(AttributeError, "has no search here"):
      print(loaded.search_)

  @level.gate
  def test_another_program(self):
    path = self.create_tempfile().full_path
    fitted = classifier(Scale, RegisteredScale, loss=own_loss).fit(_X, _LABELS)
    joblib.dump(fitted, path)
    expected = fitted.predict_proba(_X[:3])
    program = f"""
import joblib
import numpy as np
fitted = joblib.load({path!r})
x = np.array({_X[:3].tolist()})
np.testing.assert_allclose(
    {expected.tolist()}, fitted.predict_proba(x), rtol=1e-5)
print(fitted.predict(x).tolist(), fitted.model_.loss.__name__)
print(fitted.fit(np.array({_X.tolist()}), {_LABELS.tolist()}).n_features_in_)
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], env=processes.python_environment(),
        cwd=self.create_tempdir().full_path, stdout=subprocess.PIPE, text=True,
        check=True, timeout=100).stdout
    self.assertEqual(
        f"{fitted.predict(_X[:3]).tolist()} own_loss\n4\n", printed)


class MissingTest(absltest.TestCase):

  def test_extra_is_named(self):
    name = "adanet.ensemble_search.scikit_learn"
    with mock.patch.dict(sys.modules):
      for module in [module for module in sys.modules
                     if module.startswith(("sklearn", name))]:
        del sys.modules[module]
      sys.modules["sklearn"] = None
      estimator = adanet.ensemble_search.EnsembleClassifier
      with self.assertRaisesRegex(
          ModuleNotFoundError, r"^EnsembleClassifier needs scikit-learn .*"
          r"pip install 'adanet-distributed\[scikit-learn\]'\.$"):
        estimator([make()])

  def test_import_of_adanet_needs_none(self):
    subprocess.run(
        [sys.executable, "-c",
         "import adanet, sys; assert 'sklearn' not in sys.modules"],
        env=processes.python_environment(), check=True, timeout=100)


class HabitsTest(absltest.TestCase):
  """What users of scikit-learn do with an estimator."""

  def _estimators(self):
    return [("networks", classifier()),
            ("trees", ensemble.HistGradientBoostingClassifier(max_iter=5))]

  @level.gate
  def test_pipeline_and_grid(self):
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), classifier())
    grid = model_selection.GridSearchCV(
        steps, {"ensembleclassifier__patience": [1, 2]}, cv=2,
        error_score="raise").fit(_X, _LABELS)
    self.assertIn(grid.best_params_["ensembleclassifier__patience"], [1, 2])
    self.assertEqual((90,), grid.predict(_X).shape)

  def test_permutation_importance(self):
    fitted = classifier(epochs=40).fit(_X, _LABELS)
    importances = inspection.permutation_importance(
        fitted, _X, _LABELS, n_repeats=3, random_state=0).importances_mean
    self.assertGreater(importances[:2].min(), importances[2:].max())

  @level.gate
  def test_calibration(self):
    calibrated = calibration.CalibratedClassifierCV(classifier(), cv=2).fit(
        _X, _LABELS, sample_weight=1 + _CLASSES)
    self.assertEqual((90, 3), calibrated.predict_proba(_X).shape)

  @level.gate
  def test_stacking_and_voting(self):
    for estimator in (
        ensemble.StackingClassifier(
            self._estimators(), linear_model.LogisticRegression(), cv=2),
        ensemble.VotingClassifier(self._estimators(), voting="soft")):
      self.assertGreater(estimator.fit(_X, _LABELS).score(_X, _LABELS), .6)

  @level.gate
  def test_other_processes(self):
    scores = [model_selection.cross_val_score(
        classifier(), _X, _LABELS, cv=2, n_jobs=jobs).tolist()
              for jobs in (1, 2)]
    self.assertEqual(*scores)


class ChecksTest(parameterized.TestCase):
  """scikit-learn's own checks."""

  def _check(self, estimator, runs):
    """Runs the checks whose names `runs` takes, and compares the failures."""
    name = type(estimator).__name__
    results = {}
    for part, check in estimator_checks.estimator_checks_generator(
        estimator, mark="skip", expected_failed_checks={_SLOW[name]: "slow"}):
      check_name = getattr(check, "func", check).__name__
      if not runs(check_name):
        continue
      try:
        check(part)
      except absltest.SkipTest:
        continue
      except Exception as error:  # pylint: disable=broad-except
        results[check_name] = error
      else:
        results.setdefault(check_name, None)
    failed = {check: error for check, error in results.items() if error}
    expected = set(_FAILED[name]) & set(results)
    self.assertEqual(expected, set(failed), failed)
    return set(results)

  @parameterized.parameters(
      (adanet.EnsembleClassifier, of_classes),
      (adanet.EnsembleRegressor, of_numbers))
  def test_quick(self, kind, function):
    self.assertLen(
        self._check(self._estimator(kind, function), _QUICK.__contains__),
        len(_QUICK))

  @level.gate
  def test_all_of_a_classifier(self):
    names = self._check(
        self._estimator(adanet.EnsembleClassifier, of_classes), bool)
    self.assertGreater(len(names), 40)
    self.assertContainsSubset(_FAILED["EnsembleClassifier"], names)

  @level.gate
  def test_what_is_else_of_a_regressor(self):
    names = self._check(
        self._estimator(adanet.EnsembleRegressor, of_numbers),
        lambda name: any(word in name for word in _OF_REGRESSORS))
    self.assertContainsSubset(_FAILED["EnsembleRegressor"], names)

  def _estimator(self, kind, function):
    return kind([function], optimizer=keras.optimizers.Adam(.1), batch_size=16,
                epochs=30, seed=1)

  def test_few_fail(self):
    self.assertLessEqual(sum(map(len, _FAILED.values())), 8)


if __name__ == "__main__":
  absltest.main()
