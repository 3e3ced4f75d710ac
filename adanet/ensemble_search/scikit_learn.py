# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`EnsembleSearch` by the rules of scikit-learn: a classifier, a regressor.

`fit` checks the data as scikit-learn does, builds a model to see what models
return, and gives all else to an `EnsembleSearch`.
"""

import copy
import functools
import inspect
import os
import pickle
import shutil
import tempfile
import types
from typing import Any
import weakref

from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arguments as arguments_lib
from adanet.ensemble_search import arrays
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import files
from adanet.ensemble_search import frames
from adanet.ensemble_search import identity
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import proposals
from adanet.ensemble_search import workers
from adanet.tf_compat import seeds
import numpy as np
from sklearn import base
from sklearn import utils
from sklearn.utils import class_weight as class_weight_lib
from sklearn.utils import multiclass
from sklearn.utils import validation

# scikit-learn names the inputs X.
# pylint: disable=invalid-name

keras: Any = tf_compat.keras_3
# Parameters that change nothing about the networks.
_LIMITS = ("directory", "executor", "max_seconds", "parallel", "verbose")
# Rows by which a model shows what it returns, and rows of a batch of `predict`.
_SAMPLE_ROWS, _BATCH_ROWS = 8, 1024


def _select(x, rows):
  """Returns rows of an array, or of each column."""
  return keras.tree.map_structure(lambda array: array[rows], x)


def _describe(value):
  """Returns the code of a user's function, and the values it refers to."""
  if isinstance(value, functools.partial):
    return identity.text_of(
        [value.func, value.args, value.keywords], _describe)
  name = getattr(value, "__qualname__", type(value).__qualname__)
  closure = inspect.getclosurevars(value).nonlocals if isinstance(
      value, types.FunctionType) else {}
  return f"{name} {identity.digest_code(value)} {identity.text_of(closure)}"


class _EnsembleEstimator(base.BaseEstimator):
  """What the classifier and the regressor have in common."""

  def __init__(self, models: Any, loss: Any = None, metrics: Any = None,
               optimizer: Any = None, seed: int | None = None,
               directory: Any = None, *, monitor: str = "val_loss",
               mode: str | None = None, loss_weights: Any = None,
               sampler: Any = None, combine: Any = None, batch_size: int = 32,
               epochs: int = 1000, validation_split: float = .2,
               patience: int = 5, iterations: int = 1,
               trials: int | None = None, enqueue: Any = None,
               folds: Any = None, finalists: int | None = None,
               max_members: int | None = None, callbacks: Any = None,
               max_seconds: float | None = None, executor: Any = None,
               parallel: int | None = None, verbose: Any = 0) -> None:
    self._keep_parameters(locals())

  def _keep_parameters(self, variables):
    """Sets the parameters of the constructor, which `fit` checks."""
    for name, value in variables.items():
      if name not in ("self", "__class__"):
        self.__dict__[name] = value

  def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Trains the models and selects the ensemble.

    Args:
      X: array or sparse matrix of shape [rows, features], an array with more
        axes such as images, or a pandas.DataFrame. A frame that has text or
        categories is the dict of its columns that `adanet.columns` returns.
      y: array of shape [rows], the labels; for a regressor also of shape
        [rows, outputs].
      sample_weight: array of shape [rows], the weight of each row in the loss,
        also of held-out rows.

    Returns:
      This estimator.

    Raises:
      ValueError: the data or the models do not fit; see `EnsembleSearch.fit`.
      TypeError: an argument or a parameter has a wrong type.
    """
    x, y = self._read_data(X, y)
    labels = self._read_labels(y)
    weights = self._read_weights(y, sample_weight)
    owner, model, outputs = self._build_example(
        _select(x, slice(_SAMPLE_ROWS)))
    loss = self.loss
    if loss is None and not model.compiled:
      loss = self._default_loss(outputs)
    labels = self._match_labels(
        labels, owner, outputs, keras.losses.get(keras.tree.flatten(
            model.loss if loss is None else loss)[0]))
    x = arrays.read("X", x)
    parameters = self.get_params(deep=False)
    parameters.pop("class_weight", None)  # It is a part of the weights.
    if hasattr(self.folds, "split"):
      parameters["folds"] = list(self.folds.split(X, y))
    self.directory_ = self._make_folder(parameters, x, labels, weights)
    parameters.update(loss=loss, directory=self.directory_)
    search = ensemble_search.EnsembleSearch(**{
        name: parameters.pop(name) for name in inspect.signature(
            ensemble_search.EnsembleSearch).parameters})
    if self.directory is None:
      # A search that outlives the estimator has its files, too.
      weakref.finalize(
          search, shutil.rmtree, self.directory_, ignore_errors=True)
    search.fit(x, labels, sample_weight=weights, **parameters)
    self._search = search
    self.model_ = search.model
    return self

  def _read_data(self, X, y):
    """Returns what models take for X, and y, as scikit-learn reads both."""
    self._has_columns = frames.is_frame(X) and not all(
        map(frames.is_number, X.dtypes))
    if not self._has_columns:
      return validation.validate_data(
          self, X, y, accept_sparse="csr", allow_nd=True, multi_output=True,
          ensure_min_samples=2)
    validation.validate_data(self, X, y, skip_check_array=True)
    y = utils.check_array(y, ensure_2d=False, dtype=None, input_name="y")
    utils.check_consistent_length(X, y)
    return frames.read_columns("X", X), y

  def _read_weights(self, y, sample_weight):
    """Returns the weight of each row, also of its class, or None."""
    weights = None
    if sample_weight is not None:
      weights = utils.column_or_1d(utils.check_array(
          sample_weight, ensure_2d=False, input_name="sample_weight"))
      utils.check_consistent_length(y, weights)
      if not weights.any():
        raise ValueError("sample_weight is zero for each row: expected weights "
                         "greater than 0.")
    class_weight = getattr(self, "class_weight", None)  # Of a classifier.
    if class_weight is None:
      return weights
    return class_weight_lib.compute_sample_weight(class_weight, y) * (
        1. if weights is None else weights)

  def _build_example(self, x):
    """Returns a model, its name in messages, and its outputs for rows."""
    functions = arguments_lib.read_models(self.models)
    # Without a trial, if there is such a function.
    name, function = min(functions.items(), key=lambda pair: (
        models_lib.count_arguments(pair[1])))
    owner = f"models[{name!r}]"
    with seeds.seeded_thread(0):
      model = (proposals.build_at_random if models_lib.count_arguments(function)
               else models_lib.call_function)(owner, function)
      with models_lib.kept_states(model):
        outputs = model(keras.tree.map_structure(
            arrays.tensor, arrays.read("X", x)))
    if keras.tree.is_nested(outputs) or len(outputs.shape) > 2:
      shapes = keras.tree.map_structure(
          lambda output: str([None, *output.shape[1:]]), outputs)
      raise ValueError(
          f"{owner} returns {shapes}: expected a single output of the shape "
          "[rows] or [rows, outputs]. adanet.EnsembleSearch takes any outputs.")
    return owner, model, keras.ops.convert_to_numpy(outputs)

  def _make_folder(self, parameters, x, labels, weights):
    """Returns the folder of a search, which the same fit has again."""
    if self.directory is None:
      return tempfile.mkdtemp(prefix="adanet-")
    parameters = {name: value for name, value in parameters.items()
                  if name not in _LIMITS}
    return os.path.join(
        arguments_lib.absolute_path(self.directory), identity.digest_json([
            identity.describe(parameters, _describe),
            arrays.digest((x, labels, weights))]))

  @property
  def search_(self) -> ensemble_search.EnsembleSearch:
    """The `EnsembleSearch`, with the leaderboard, the members and the study."""
    validation.check_is_fitted(self)
    if self._search is None:
      if files.Directory(self.directory_).read() is None:
        raise AttributeError(
            f"search_: {self.directory_!r} has no search here, and a pickle "
            "has model_ alone: give directory before fit, and keep the folder.")
      parameters = {name: getattr(self, name) for name in inspect.signature(
          ensemble_search.EnsembleSearch).parameters}
      parameters["directory"] = self.directory_
      self._search = ensemble_search.EnsembleSearch(**parameters)
    return self._search

  def _predict_outputs(self, X):
    """Returns what the ensemble returns for rows."""
    validation.check_is_fitted(self)
    if self._has_columns:
      validation.validate_data(self, X, reset=False, skip_check_array=True)
      x = frames.columns(X)
    else:
      x = validation.validate_data(
          self, X, reset=False, accept_sparse="csr", allow_nd=True)
    rows = keras.tree.flatten(x)[0].shape[0]
    # Without the dataset that Model.predict makes, which takes 60 ms.
    outputs = np.concatenate([
        self.model_.predict_on_batch(arrays.read("X", _select(
            x, slice(start, start + _BATCH_ROWS))))
        for start in range(0, rows, _BATCH_ROWS)]).astype("float64")
    wrong = rows - np.isfinite(outputs.reshape(rows, -1)).all(1).sum()
    if wrong:
      raise ValueError(
          f"X: the ensemble returns NaN or infinity for {wrong} of {rows} "
          "rows: expected rows like those of fit, without very large numbers.")
    return outputs

  def __getstate__(self):
    """Returns a state that another program can read, with the functions."""
    # An executor is of this program.
    state = {**super().__getstate__(), "executor": None}
    if "_search" in state:
      state["_search"] = None
    return {"pickle": workers.dumps(state)}

  def __setstate__(self, state):
    super().__setstate__(pickle.loads(state["pickle"]))

  def __copy__(self):
    new = type(self).__new__(type(self))
    new.__dict__.update(self.__dict__)
    return new

  def __sklearn_clone__(self):
    # An executor cannot be copied.
    without = copy.copy(self).set_params(executor=None)
    return base.BaseEstimator.__sklearn_clone__(without).set_params(
        executor=self.executor)

  def __sklearn_tags__(self):
    tags = super().__sklearn_tags__()
    tags.input_tags.sparse = True
    tags.input_tags.three_d_array = True
    return tags


class EnsembleClassifier(base.ClassifierMixin, _EnsembleEstimator):
  """`EnsembleSearch` as a classifier of scikit-learn.

  For example::

      classifier = adanet.EnsembleClassifier(
          {"wide": make_wide, "deep": make_deep}, seed=1)
      scores = model_selection.cross_val_score(classifier, x, y)

  The models end in an output for each class, or in a single output for two
  classes: probabilities, or logits where the loss has `from_logits=True`. A
  model may have more outputs than there are classes in `y`, as in a fold
  without the rows of a class: `predict_proba` has the classes of `y` alone.

  With a fitted estimator, `pickle` and `joblib` save `model_` and the
  functions, and leave the files of the search and `executor` out.

  Attributes:
    classes_: array with the labels of the classes, of any type.
    n_features_in_: int, the number of columns of X.
    feature_names_in_: array with the names of columns, of a data frame.
    search_: the `EnsembleSearch`.
    model_: `keras.Model`, the ensemble. It returns the outputs for the classes
      in the order of `classes_`.
    directory_: str, the folder of the search.
  """

  # pylint: disable-next=super-init-not-called
  def __init__(self, models: Any, loss: Any = None, metrics: Any = None,
               optimizer: Any = None, seed: int | None = None,
               directory: Any = None, *, monitor: str = "val_loss",
               mode: str | None = None, class_weight: Any = None,
               loss_weights: Any = None, sampler: Any = None,
               combine: Any = None, batch_size: int = 32, epochs: int = 1000,
               validation_split: float = .2, patience: int = 5,
               iterations: int = 1, trials: int | None = None,
               enqueue: Any = None, folds: Any = None,
               finalists: int | None = None, max_members: int | None = None,
               callbacks: Any = None, max_seconds: float | None = None,
               executor: Any = None, parallel: int | None = None,
               verbose: Any = 0) -> None:
    """Keeps the parameters, which `fit` checks.

    All other parameters are those of `EnsembleSearch` and of its `fit`.

    Args:
      models: dict from name to a function that returns a new Keras model.
      loss: None for the loss of compiled models, and otherwise for the binary
        cross-entropy of a single output and the sparse categorical
        cross-entropy of several outputs. Losses that take the probabilities of
        all classes, such as `CategoricalCrossentropy`, get labels in this form.
      directory: path. Each `fit` has a folder in `directory`, which is named
        after the data and the parameters: folds of a cross-validation share no
        networks, and the same `fit` resumes. None for a temporary folder that
        is removed with `search_`.
      class_weight: dict from a label to a weight, or "balanced", as in
        scikit-learn. The weights are multiplied by `sample_weight`.
      folds: as in `EnsembleSearch.fit`, or a splitter of scikit-learn.
      verbose: as in `EnsembleSearch.fit`; by default 0, no output.
    """
    self._keep_parameters(locals())

  def _read_labels(self, y):
    """Returns the number of the class of each row."""
    multiclass.check_classification_targets(y)
    self.classes_, labels = np.unique(
        utils.column_or_1d(y, warn=True), return_inverse=True)
    if len(self.classes_) < 2:
      raise ValueError(f"y has the class {self.classes_.tolist()[0]!r} alone: "
                       "expected at least two classes.")
    return labels

  def _default_loss(self, outputs):
    return ("binary_crossentropy" if outputs.shape[1:] in ((), (1,)) else
            "sparse_categorical_crossentropy")

  def _match_labels(self, labels, owner, outputs, loss):
    """Returns the labels as the loss takes them for the outputs of a model."""
    count = (*outputs.shape, 1)[1]
    name = getattr(loss, "__name__", type(loss).__name__).lower()
    problem = ""
    if count < len(self.classes_) and (count > 1 or len(self.classes_) > 2):
      problem = f"y has {len(self.classes_)} classes"
    elif count == 1 and "categorical" in name or count > 1 and "binary" in name:
      problem = f"the loss is {name}"
    if problem:
      raise ValueError(
          f"{owner} returns {messages.count(count, 'output')}, and {problem}: "
          "expected an output for each class and a sparse categorical loss, or "
          "for two classes one output and a binary loss.")
    self._has_logits = getattr(loss, "get_config", dict)().get(
        "from_logits", False)
    if not self._has_logits and not (
        outputs.min() >= -1e-3 and outputs.max() <= 1.001):
      raise ValueError(
          f"{owner} returns numbers that are no probabilities: expected a "
          "softmax or a sigmoid at the end, or a loss with from_logits=True, "
          "such as keras.losses.SparseCategoricalCrossentropy("
          "from_logits=True).")
    if "categorical" in name and "sparse" not in name:
      return keras.utils.to_categorical(labels, count)
    return labels.reshape(-1, *outputs.shape[1:]) if count == 1 else labels

  def predict_proba(self, X: Any) -> np.ndarray:
    """Returns the probabilities of `classes_`, an array [rows, classes].

    Args:
      X: as in `fit`.

    Raises:
      ValueError: `X` does not fit, or the ensemble returns NaN.
      TypeError: `fit` got a frame with text, and `X` is no frame.
    """
    outputs = self._predict_outputs(X)
    if outputs.shape[1:] in ((), (1,)):
      positive = outputs.reshape(-1, 1)
      if self._has_logits:
        positive = keras.ops.convert_to_numpy(keras.ops.sigmoid(positive))
      return np.concatenate([1 - positive, positive], axis=1)
    # A class that y lacks has no label.
    outputs = outputs[:, :len(self.classes_)]
    if self._has_logits:
      return keras.ops.convert_to_numpy(keras.ops.softmax(outputs))
    return outputs / outputs.sum(axis=1, keepdims=True)

  def predict(self, X: Any) -> np.ndarray:
    """Returns the most probable label of each row.

    `X` and errors are as in `predict_proba`.
    """
    numbers = self.predict_proba(X).argmax(axis=1)
    return self.classes_[numbers]


class EnsembleRegressor(base.MultiOutputMixin, base.RegressorMixin,
                        _EnsembleEstimator):
  """`EnsembleSearch` as a regressor of scikit-learn.

  For example::

      regressor = pipeline.make_pipeline(
          preprocessing.StandardScaler(),
          adanet.EnsembleRegressor({"wide": make_wide, "deep": make_deep}))
      regressor.fit(x, y).score(x_test, y_test)

  The parameters are those of `EnsembleClassifier` without `class_weight`.
  `loss` is by default "mse" for models that are not compiled. The models end in
  as many outputs as `y` has columns.

  Attributes:
    n_features_in_, feature_names_in_, search_, model_, directory_: see
      `EnsembleClassifier`.
  """

  def _read_labels(self, y):
    y = utils.check_array(y, ensure_2d=False, input_name="y")
    self._label_shape = y.shape[1:]
    return y

  def _default_loss(self, outputs):
    del outputs
    return "mse"

  def _match_labels(self, labels, owner, outputs, loss):
    """Returns the labels in the shape of the outputs of a model."""
    del loss
    counts = [(*array.shape, 1)[1] for array in (outputs, labels)]
    if counts[0] != counts[1]:
      raise ValueError(
          f"{owner} returns {messages.count(counts[0], 'output')}, and y has "
          f"{messages.count(counts[1], 'column')}: expected an output for each "
          "column of y.")
    return labels.reshape(-1, *outputs.shape[1:])

  def predict(self, X: Any) -> np.ndarray:
    """Returns the predictions in the shape of y.

    Args:
      X: as in `fit`.

    Raises:
      ValueError: `X` does not fit, or the ensemble returns NaN.
      TypeError: `fit` got a frame with text, and `X` is no frame.
    """
    return self._predict_outputs(X).reshape(-1, *self._label_shape)
