# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: Keras models in, an ensemble of them out."""

import os
import random
import tempfile
from typing import Any, Dict, List, Optional, Tuple

from adanet import ensemble as ensemble_lib
from adanet import log
from adanet import tf_compat
from adanet.core import early_stopping
from adanet.core import evaluation
from adanet.core import model_dir as model_dir_lib
from adanet.core import user_input
from adanet.estimator import auto_ensemble
from adanet.estimator import keras_words
from adanet.estimator import user_folder
from adanet.estimator.keras_fit import array_data
from adanet.estimator.keras_fit import arrangement as arrangement_lib
from adanet.estimator.keras_fit import dataset_data
from adanet.estimator.keras_fit import loss as loss_lib
from adanet.estimator.keras_fit import made_model
from adanet.estimator.keras_fit import pool as pool_lib
from adanet.estimator.keras_fit import record as record_lib
from adanet.estimator.keras_fit import words
from adanet.history import report
from adanet.progress import reporter
from adanet.tf_compat import optimizers

_SHOWN = {"auto": reporter.AUTO, 0: reporter.NOTHING, 1: reporter.AUTO,
          2: reporter.LINES}


def _check_seed(seed):
  if seed is not None and (isinstance(seed, bool) or not isinstance(
      seed, int) or not 0 <= seed < 2**31):
    raise ValueError(f"seed={user_input.described(seed)}: expected an int from "
                     "0 to 2**31 - 1, or None.")


def _check_fit(batch_size, epochs, patience, iterations, max_seconds, verbose,
               executor):
  """Checks the arguments of `fit` that are no data."""
  for name, value in (("batch_size", batch_size), ("epochs", epochs),
                      ("patience", patience), ("iterations", iterations)):
    words.check_count(name, value)
  if max_seconds is not None and (
      isinstance(max_seconds, bool) or
      not isinstance(max_seconds, (int, float)) or not max_seconds > 0):
    raise ValueError(f"max_seconds={user_input.described(max_seconds)}: "
                     "expected a number greater than 0, or None.")
  if isinstance(verbose, bool) or not isinstance(
      verbose, (int, str)) or verbose not in _SHOWN:
    raise ValueError(f"verbose={user_input.described(verbose)}: expected "
                     "\"auto\", 0, 1 or 2.")
  if executor is not None and not hasattr(executor, "submit"):
    raise TypeError(
        f"executor={user_input.described(executor)}: expected an object with "
        "the interface of concurrent.futures.Executor, such as a "
        "ProcessPoolExecutor.")


def _no_data():
  raise ValueError(
      "The search was stopped in the middle of an iteration, and its data are "
      "not known here: call fit with them to go on.")


class _ModelsEstimator(auto_ensemble.AutoEnsembleEstimator):
  """The estimator behind a search, which names its models as its user does."""

  _POOL_ARGUMENT = "models"


class EnsembleSearch:
  """Trains Keras models, and selects an ensemble of them: a Keras model.

  A face of `AutoEnsembleEstimator` in Keras's words::

      search = adanet.EnsembleSearch(
          {"wide": make_wide, "deep": make_deep},
          loss="sparse_categorical_crossentropy", metrics=["accuracy"],
          directory="digits")
      search.fit(x, y)
      search.model.save("digits.keras")

  `fit` holds rows out. Each network trains until its loss on these is no better
  for `patience` epochs, and keeps the values of its best epoch. Then a
  `GreedyEnsembler` selects networks, so that the mean of their outputs has the
  least loss on the same rows. The mean is of probabilities where models end in
  a softmax, and of logits where the loss says `from_logits=True`.

  All that is learned lies in `directory`. After Ctrl-C, `fit` goes on there.

  It needs Keras 3: TensorFlow 2.16 or later.
  """

  def __init__(self, models: Any, loss: Any = None, metrics: Any = None,
               optimizer: Any = None, loss_weights: Any = None,
               directory: Any = None, seed: Optional[int] = None,
               **kwargs: Any) -> None:
    """Trains nothing, and writes nothing yet.

    Args:
      models: dict from a name to a function without arguments, which makes a
        Keras model, compiled or not, a new one at each call. Or a list of such
        functions, which are named as they are.
      loss: as `Model.compile` takes it: the name of a loss, a
        `keras.losses.Loss` or a function of `y_true` and `y_pred`; a dict or a
        list for several outputs. None for the loss with which the models are
        compiled, which must be the same.
      metrics: as `Model.compile` takes them; None for the metrics with which
        the models are compiled if `loss` is None, too, or else for none.
      optimizer: as `Model.compile` takes it, for models that are not compiled;
        None for Adam with a learning rate of .001.
      loss_weights: dict or list of floats, how much the loss of each output
        counts; None if all count 1.
      directory: path, the folder of the search; None for a new temporary one.
      seed: int, of all that is random; None for another one each time.
      **kwargs: none: for the errors of unknown arguments.

    Raises:
      ValueError: an argument is not as described, or this is not Keras 3.
      TypeError: an argument is of another type, or unknown.
    """
    keras_words.check_arguments(
        "EnsembleSearch", sorted(kwargs), words.ARGUMENTS)
    if not tf_compat.HAS_KERAS_3:
      raise ValueError(
          "EnsembleSearch needs Keras 3: expected TensorFlow 2.16 or later. "
          "Before, use adanet.AutoEnsembleEstimator.")
    backend = tf_compat.keras_3.backend.backend()
    if backend != "tensorflow":
      raise ValueError(f"EnsembleSearch needs Keras's backend \"tensorflow\", "
                       f"and it is {backend!r}: set KERAS_BACKEND=tensorflow.")
    self._pool = pool_lib.checked(models)
    loss_lib.check_losses(loss)
    loss_lib.check_metrics(metrics)
    self._given = loss_lib.CompileArguments(loss, metrics, loss_weights)
    optimizers.for_any_graph(optimizer)  # Raises an error.
    self._optimizer = optimizer
    self._directory = user_folder.absolute("directory", directory)
    _check_seed(seed)
    self._seed = seed
    self._estimator: Optional[auto_ensemble.AutoEnsembleEstimator] = None

  def __getattr__(self, name: str) -> Any:
    raise words.attribute_error("EnsembleSearch", name)

  @classmethod
  def load(cls, directory: Any, models: Any, loss: Any = None,
           metrics: Any = None, optimizer: Any = None) -> "EnsembleSearch":
    """Returns the search of a directory, in another program.

    Args:
      directory: path, the folder of the search.
      models: the functions of before.
      loss: that of before; None if it is one of Keras, which the folder knows.
      metrics: the same.
      optimizer: the same.

    Raises:
      ValueError: the directory has no search, or one with a loss or metric of a
        program, which is not given.
    """
    path = user_folder.absolute("directory", directory)
    record = None if path is None else record_lib.read(path)
    if record is None:
      raise ValueError(f"directory={path!r} has no search of EnsembleSearch: "
                       "expected the directory of one that was trained.")
    arguments = {name: record_lib.loaded(value)
                 for name, value in record.arguments.items()}
    for name, value in (
        ("loss", loss), ("metrics", metrics), ("optimizer", optimizer)):
      if value is not None:
        arguments[name] = value
      unknown = record_lib.unknown_in(arguments[name])
      if unknown is not None:
        raise ValueError(
            f"{name}=None: the search in {path!r} has {unknown}, which is not "
            f"of Keras: expected the {name} of before.")
    return cls(models, directory=path, seed=record.seed, **arguments)

  def fit(self, x: Any, y: Any = None, batch_size: int = 32,
          epochs: int = 1000, validation_data: Any = None,
          validation_split: float = .2, sample_weight: Any = None,
          class_weight: Optional[Dict[int, float]] = None, patience: int = 5,
          iterations: int = 1, max_seconds: Optional[float] = None,
          executor: Any = None, verbose: Any = "auto",
          **kwargs: Any) -> "EnsembleSearch":
    """Trains all models, and selects the ensemble.

    Another call goes on in `directory`: with more `iterations` it adds some,
    and after Ctrl-C it resumes. The data, the models and the loss must be the
    same as before.

    Args:
      x: the inputs: an array, a dict or a list of arrays, or a data frame or
        Series of pandas. A data frame is one matrix, or, if the models have an
        input for each of its columns, a dict of them. Or a function that
        returns a `tf.data.Dataset` of `(x, y)` or `(x, y, sample_weight)` in
        batches, of one epoch; it shuffles by itself.
      y: the labels: numbers, in the same kinds of structures. None where `x` is
        a function.
      batch_size: int, how many rows a step takes; the last one of an epoch may
        take fewer. Without effect where `x` is a function.
      epochs: int, after how many epochs a network ends at the latest: a limit,
        not a choice.
      validation_data: tuple `(x, y)` or `(x, y, sample_weight)` of held-out
        data, used as it is. A function as `x` where that is one.
      validation_split: float between 0 and 1, the part of the rows to hold out
        where `validation_data` is None. `seed` picks the rows. Keras takes the
        last ones, and so whole classes of sorted data.
      sample_weight: array, the weight of each row in the loss, also of held-out
        rows; for several outputs a dict or a list is possible, too.
      class_weight: dict from class to weight, for models with one output. It
        counts in the loss of held-out rows, too, unless these have weights.
      patience: int, after how many epochs in a row that are no better a network
        ends.
      iterations: int, how many times all models are trained, in all calls
        together. The ensemble is selected from all networks.
      max_seconds: float, how long this call may train; None for no limit.
      executor: `concurrent.futures.Executor` whose workers train the models,
        with the same figures; None for this process. Arrays go to a file in
        `directory` once.
      verbose: "auto" or 1 for a display or lines, 2 for lines, 0 for none.
      **kwargs: none: for the errors of unknown arguments.

    Returns:
      This search.

    Raises:
      ValueError: an argument is not as described, or the directory has another
        search.
      TypeError: an argument is of another type, or unknown.
      KeyboardInterrupt: Ctrl-C; all training so far is saved.
    """
    keras_words.check_arguments("fit", sorted(kwargs), words.ARGUMENTS)
    _check_fit(batch_size, epochs, patience, iterations, max_seconds, verbose,
               executor)
    before = self._record()
    seed = self._seed_of(before)
    is_function = callable(x) and not hasattr(x, "__array__")
    data: Any = (
        dataset_data.DatasetData(x, y, validation_data, sample_weight,
                                 class_weight) if is_function else
        array_data.ArrayData(
            x, y, batch_size, validation_data, validation_split, sample_weight,
            class_weight, seed))
    arrangement, arguments, tried = self._tried(data)
    steps = data.steps_per_epoch
    now = record_lib.SearchRecord(
        seed, {"loss": record_lib.dumped(arguments.loss),
               "metrics": record_lib.dumped(arguments.metrics),
               "loss_weights": record_lib.dumped(arguments.loss_weights),
               "optimizer": record_lib.dumped(self._optimizer)},
        arrangement, data.digests(), {
            name: one.digest for name, one in zip(self._pool, tried)},
        epochs * steps)
    self._check_same(before, now)
    directory = self._made_directory()
    train, held_out = data.input_fns(
        arrangement,
        None if executor is None else os.path.join(directory, "data"))
    now.write(directory)
    self._estimator = self._made_estimator(
        now, arguments, iterations, evaluation.Evaluator(held_out),
        early_stopping.EarlyStopping(steps, patience), [
            name for name, one in zip(self._pool, tried)
            if one.compiled.get("optimizer") is not None])
    with reporter.shown(_SHOWN[verbose]):
      self._estimator.train(train, executor=executor, max_seconds=max_seconds)
    return self

  @property
  def estimator(self) -> auto_ensemble.AutoEnsembleEstimator:
    """The `AutoEnsembleEstimator` behind it.

    Raises:
      ValueError: nothing was trained yet.
    """
    if self._estimator is None:
      record = self._record()
      if record is None:
        raise ValueError("Nothing was trained yet: call fit(x, y).")
      arguments = loss_lib.of_outputs(
          self._given if self._given.loss is not None else
          loss_lib.CompileArguments(**{
              name: record_lib.loaded(record.arguments[name])
              for name in ("loss", "metrics", "loss_weights")}),
          record.arrangement.outputs)
      self._estimator = self._made_estimator(
          record, arguments, None, evaluation.Evaluator(_no_data))
    return self._estimator

  @property
  def model(self) -> Any:
    """The best ensemble, a `keras.Model` that is compiled with the loss.

    It takes x, and returns predictions, as the data of `fit` are. Each read
    makes a new one.

    Raises:
      ValueError: nothing was trained yet, or no iteration is over.
    """
    estimator = self.estimator
    record = self._record()
    assert record is not None  # There is an estimator.
    return made_model.as_given(
        estimator.keras_model(), record.arrangement, estimator.model_dir)

  @property
  def history(self) -> report.History:
    """The history of the search; see `adanet.report`."""
    return self.estimator.history()

  def leaderboard(self) -> Any:
    """Returns the ensembles and networks as a table, the best first."""
    return self.history.leaderboard()

  def _record(self):
    """Returns the `SearchRecord` of the directory, or None.

    Raises:
      ValueError: it has another search.
    """
    if self._directory is None:
      return None
    if model_dir_lib.ModelDir(self._directory).latest_checkpoint() is None:
      return None
    record = record_lib.read(self._directory)
    if record is None:
      raise ValueError(
          f"directory={self._directory!r} has a search of another Estimator: "
          "expected a new directory, or that of an EnsembleSearch.")
    return record

  def _seed_of(self, before):
    """Returns the seed, which a search keeps."""
    if self._seed is None:
      self._seed = (random.SystemRandom().randrange(2**31) if before is None
                    else before.seed)
    return self._seed

  def _tried(self, data: Any) -> Tuple[
      arrangement_lib.Arrangement, loss_lib.CompileArguments,
      List[pool_lib.Tried]]:
    """Tries all models with some rows; see `pool`."""
    x, y = data.sample()
    first = pool_lib.read_first(self._pool, x)
    arrangement = arrangement_lib.Arrangement(
        first.kind, tuple(first.outputs), arrangement_lib.kind_of(y))
    features = arrangement.features("x", x)
    tried = [pool_lib.tried(name, function, features, first.outputs)
             for name, function in self._pool.items()]
    arguments = self._given
    if arguments.loss is None:
      arguments = loss_lib.from_models(tried, arguments)
    arguments = loss_lib.of_outputs(arguments, first.outputs)
    arrangement = arrangement._replace(weights=data.weight_names(arrangement))
    losses = arguments.head(None).losses
    for one in tried:
      loss_lib.check_outputs(one, losses)
      for argument, labels in data.all_labels().items():
        for name, array in arrangement.by_output(argument, labels).items():
          loss_lib.check_labels(one.owner, array, one.outputs[name],
                                losses[name], argument)
    # Their variables are not needed any more.
    return arrangement, arguments, [one._replace(model=None) for one in tried]

  def _check_same(self, before, now):
    """Raises an error if the directory has another search."""
    differences = [] if before is None else before.differences(now)
    if differences:
      raise ValueError(
          f"directory={self._directory!r} has a search with something else: "
          f"{'; '.join(differences)}. Give what it had, or another directory.")

  def _made_directory(self):
    if self._directory is None:
      self._directory = tempfile.mkdtemp()
      log.warning("directory=None: the search goes to %s.", self._directory)
    return self._directory

  def _made_estimator(self, record, arguments, iterations, evaluator,
                      stopping=None, compiled=()):
    """Returns the estimator of the search."""
    optimizer = self._optimizer
    pool = dict(self._pool)
    if optimizer is None and compiled:
      # These have one of their own, and are not to be told of another one.
      pool = {name: function if name in compiled else
                    auto_ensemble.AutoEnsembleSubestimator(
                        function, optimizer="adam")
              for name, function in pool.items()}
    elif optimizer is None:
      optimizer = "adam"
    return _ModelsEstimator(
        arguments.head(record.arrangement.weight_column), pool,
        max_iteration_steps=record.max_iteration_steps,
        max_iterations=iterations, optimizer=optimizer, early_stopping=stopping,
        ensemblers=[ensemble_lib.GreedyEnsembler()], evaluator=evaluator,
        config=tf_compat.RunConfig(
            model_dir=self._directory, tf_random_seed=record.seed))
