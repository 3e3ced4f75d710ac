# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: trains Keras models and selects their best ensemble.

The modules in the order of the data:

    arguments, settings    what the constructor and `fit` are asked
    arrays, frames,        read x; `data` divides x into `rows`
      batches
    search_run             a call of `fit`, as a loop
    rounds, proposals,     what trains next, with Optuna's trials; `changes`
      studies              compares functions with what has ended
    preflight              builds a model of each function; `model_checks` and
                           `broadcasts` say what is wrong with the model
    engine                 has networks train in threads, and `executor_run` by
                           `workers`, which compare `signatures`
    network, steps         train a network, of `tasks`, on one of the `devices`;
                           `kept_networks` lend their models, and `failures`
                           makes an error a record
    judge, combining       compute values, and select the ensemble
    files, records,        what the directory has; `files` says when which file
      candidates, samples  is written
    trained,               build `search.model` of what the directory has
      ensemble_model
    history, leaderboard,  what is shown
      picture, display
    models, identity       build, copy, describe and compare Keras models
"""

from typing import Any, TYPE_CHECKING

from adanet import forks
from adanet import interrupts
from adanet import tf_compat
from adanet.ensemble_search import arguments as arguments_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import history as history_lib
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import search_run
from adanet.ensemble_search import settings as settings_lib
from adanet.ensemble_search import studies
from adanet.ensemble_search import trained as trained_lib
from adanet.tf_compat import runtime


class EnsembleSearch:
  """Trains Keras models and selects their best ensemble, itself a Keras model.

  For example::

      search = adanet.EnsembleSearch(
          {"wide": make_wide, "deep": make_deep},
          loss="sparse_categorical_crossentropy", metrics=["accuracy"],
          directory="digits")
      search.fit(x, y)
      search.model.save("digits.keras")

  `fit` holds out rows. Each network trains as in `Model.fit` until the loss on
  the held-out rows has not improved for `patience` epochs. The network then
  gets the weights of the best epoch. Finally, `fit` selects the networks whose
  mean output has the least loss on the held-out rows. The ensemble averages
  probabilities where the models end in a softmax, and logits where the loss has
  `from_logits=True`.

  On the CPU, a network equals the result of `Model.fit` on the same batches to
  the last bit, regardless of the process and of the other networks.

  `directory` holds all results. After Ctrl-C, `fit` resumes from `directory`.
  EnsembleSearch needs Keras 3 (TensorFlow 2.16 or later).
  """

  @interrupts.errors_in_one_line()
  def __init__(self, models: arguments_lib.Models, loss: Any = None,
               metrics: Any = None, optimizer: Any = None,
               loss_weights: Any = None, monitor: str | None = None,
               mode: str | None = None, directory: Any = None,
               seed: int | None = None, sampler: Any = None,
               combine: Any = None) -> None:
    """Checks the arguments; trains and writes nothing yet.

    Args:
      models: dict from name to a function that returns a new Keras model at
        each call, compiled or not; or a list of such functions, each named by
        its `__name__`. A function that requires an argument gets an
        `optuna.Trial`, which proposes hyperparameters; see `trials` of `fit`.
      loss: as in `Model.compile`, to train models that are not compiled and to
        compare ensembles. None for the loss of the compiled models, which must
        be the same in all models; or, to read a search whose models were not
        compiled, for the loss that `directory` records. Then `directory` also
        has the arguments below that are None here.
      metrics: as in `Model.compile`. With None, the metrics and the weighted
        metrics of the compiled models if `loss` is None, and otherwise no
        metrics.
      optimizer: as in `Model.compile`, for models that are not compiled. None
        for Adam with a learning rate of .001.
      loss_weights: as in `Model.compile`.
      monitor: str, the value by which networks stop and keep their best
        weights, the ensemble is selected, and trials are compared: `val_loss`,
        or a metric of the search such as `val_auc`, which each model needs.
        None for `val_loss`.
      mode: "min" or "max", as in `keras.callbacks.EarlyStopping`; required
        where `monitor` is not `val_loss`.
      directory: path, the folder of the search. None for a temporary folder,
        which goes with this object or with the process.
      seed: int from 0 to 2**31 - 1, the seed of all random choices. None for
        a random seed.
      sampler: function from a seed to a new sampler of Optuna, such as
        `lambda seed: optuna.samplers.GPSampler(seed=seed)`, for functions that
        take a trial. None for `TPESampler` after a first iteration at random.
      combine: function `combine(outputs, weights)` in `keras.ops` that returns
        the outputs of the ensemble, decorated with
        `keras.saving.register_keras_serializable`. `outputs` has the shape
        [networks, rows, ...], in the structure of the models' outputs;
        `weights` has the shape [networks] and the sum 1. The result has the
        shape [rows, ...]. Ensembles are selected with the function. With folds,
        each network of a member has its share of the weight, and a held-out row
        has one network of each member, fewer than `model` has. An ensemble of
        one network has the network's outputs. None for the weighted mean.

    Raises:
      ValueError: `models` is empty, a name in `models` cannot be the name of a
        folder, `monitor`, `mode` or `seed` is out of range, `combine` is not
        registered, the backend of Keras is not TensorFlow, or `directory`
        cannot be read or records a loss, metric, optimizer or `combine` of the
        program that is missing in the arguments.
      TypeError: `models` is no dict or list of functions, a function requires
        two arguments, `seed` is not an integer, or `sampler` or `combine` is no
        function.
      RuntimeError: this process was forked after TensorFlow had started.
    """
    forks.check_process()
    runtime.grow_gpu_memory()
    arguments_lib.check_backend()
    functions = arguments_lib.read_models(models)
    # Resolved once, because the program may change its working directory.
    self._path = arguments_lib.absolute_path(directory)
    arguments = models_lib.CompileArguments(
        optimizer, loss, metrics, loss_weights)
    recorded = self._read_recorded() if loss is None else None
    if recorded is not None:
      arguments = models_lib.compile_arguments_from_json(
          str(self._path), recorded["arguments"], arguments._asdict())
      if monitor is None:
        monitor, mode = recorded["monitor"]
      if combine is None:
        combine = combining.registered_function(recorded["combine"])
    elif optimizer is None:
      arguments = arguments._replace(optimizer="adam")
    self._settings = settings_lib.SearchSettings(
        functions, arguments, arguments_lib.read_monitor(
            "val_loss" if monitor is None else monitor, mode), seed, sampler,
        combine)
    # Of the ensemble; None before they are known.
    self._judged_by: Any = None if arguments.loss is None else arguments
    self._built: Any = None  # The selected ensemble, and its model.
    self._temporary: Any = None  # Removed with the search.

  def _read_recorded(self):
    """Returns what the directory has, if it records a loss; or None."""
    content = None if self._path is None else files.Directory(self._path).read()
    return None if content is None or (
        content["arguments"]["loss"] == {"keras": None}) else content

  @interrupts.in_one_line("Stopped. All training so far is saved: call fit "
                          "again to resume.")
  def fit(self, x: Any, y: Any = None, *, validation_data: Any = None,
          validation_split: float = .2, folds: Any = None,
          sample_weight: Any = None, class_weight: Any = None,
          batch_size: int = 32, epochs: int = 1000, patience: int = 5,
          callbacks: Any = None, iterations: int = 1, trials: int | None = None,
          enqueue: Any = None, finalists: int | None = None,
          max_members: int | None = None, max_seconds: float | None = None,
          executor: Any = None, parallel: int | None = None,
          verbose: Any = "auto") -> "EnsembleSearch":
    """Trains all models and selects the ensemble.

    A later call continues the search in `directory`, with the same data and
    `batch_size`: the call trains additional `iterations` and new functions of
    `models`, resumes after Ctrl-C, and trains failed networks again.

    The data:
      x: the inputs: an array, a nested structure of arrays, or a data frame. A
        frame with text is the dict of its columns that `adanet.columns`
        returns. Or a `tf.data.Dataset` of the batches `(x, y)` or
        `(x, y, sample_weight)` of one epoch, a `keras.utils.PyDataset`, or a
        function that returns any of these or a generator.
      y: the labels: numbers, in the same kinds of structures as `x`. None where
        `x` contains the labels.
      validation_data: tuple `(x, y)` or `(x, y, sample_weight)` of held-out
        data, or a dataset.
      validation_split: float between 0 and 1, the fraction of the rows to hold
        out where `validation_data` is None. `seed` picks the rows at random;
        Keras takes the last rows, which are whole classes of sorted data.
      folds: int, the number of parts of the rows, with equally many rows of a
        class in each. A function trains a network per part on the other rows,
        and is compared by all rows. A member of the ensemble is the mean of the
        networks of a function. Or pairs of arrays with the numbers of the rows
        that train and of held-out rows, as `GroupKFold(5).split(x, y, groups)`
        of scikit-learn gives them. None for a single held-out part.
      sample_weight: array, the weight of each row in the loss, also of held-out
        rows; or a structure of arrays like `y`.
      class_weight: dict from class to weight, for models with one output; also
        of held-out rows without sample weights.
      batch_size: int, the rows of a step. Ignored for a dataset.

    How a network trains:
      epochs: int, the maximum number of epochs.
      patience: int, the number of epochs without improvement after which a
        network stops.
      callbacks: function that returns a list of new `keras.callbacks.Callback`
        objects for a network, without hooks of batches. The function may take
        the network's name.

    How much of the search now:
      iterations: int, how many times to train all models, over all calls. The
        ensemble is selected from the networks of all iterations; of more than
        64, from the 64 best.
      trials: int, how many trials of each function that takes a trial to
        propose in an iteration, from the results of all earlier iterations.
        None without such functions.
      enqueue: dict from a function to a list of dicts of hyperparameters, which
        the next new trials have, once: `{"dense": [{"width_0": 64}]}`.
      finalists: int. Each function or trial trains the first fold alone, and
        the best `finalists` train the other folds after the last iteration. The
        ensemble is selected from these. None to train all folds of each.
      max_members: int, the maximum number of members of the ensemble, which
        bounds the cost of serving. None for no limit.
      max_seconds: float, the maximum seconds that this call trains. A network
        that has not ended then is in the ensemble with its best epoch so far,
        and the next call trains it on. Selecting may take 10 % more.
      executor: `concurrent.futures.Executor`, or Dask's `Client`, whose workers
        train the networks, with the same results. None for threads of this
        process.
      parallel: int, the maximum number of networks that train at a time in this
        process, which bounds memory. None for one per core, or a few per GPU.
      verbose: "auto" or 1 for a display or log lines, 2 for a line per epoch, 0
        for no output but warnings of a problem.

    Returns:
      This search.

    Raises:
      ValueError: an argument is out of range or does not fit the others; the
        data do not fit the models, the loss or the metrics; an argument cannot
        be sent to a worker; `directory` has a search with other arguments or
        with a function that has changed; or all networks of the first iteration
        failed.
      TypeError: an argument has a wrong type.
      ModuleNotFoundError: a function takes a trial, and Optuna is missing.
      RuntimeError: the workers of `executor` died, and it starts no others; or
        `directory` is in use.
      KeyboardInterrupt: Ctrl-C, or SIGTERM without a handler of the program. A
        program that does not catch it ends with one line and the status 130, or
        143 after SIGTERM.
    """
    forks.check_process()
    models_lib.check_scope(
        "fit runs in", tf_compat.v2.distribute.get_strategy())
    data = settings_lib.FitData(
        x, y, validation_data, validation_split, folds, sample_weight,
        class_weight, batch_size)
    training = settings_lib.FitTraining(epochs, patience, callbacks)
    amount = settings_lib.FitAmount(
        iterations, trials, enqueue, finalists, max_members, max_seconds,
        executor, parallel, verbose)
    amount.check(data, self._settings)
    if self._path is None:
      self._temporary = arguments_lib.TemporaryFolder()
      self._path = self._temporary.path
    run = search_run.SearchRun(
        files.Directory(self._path), self._settings, data, training, amount)
    try:
      run.run()
    finally:
      if run.judge is not None:
        self._judged_by = run.judge.arguments
    return self

  if not TYPE_CHECKING:

    def __getattr__(self, name):
      arguments_lib.check_attribute(name)
      return self.__getattribute__(name)  # Raises the usual error.

  @property
  def history(self) -> history_lib.SearchHistory:
    """The `SearchHistory`: all networks with their learning curves."""
    return history_lib.read(self._trained_path())

  def leaderboard(self) -> Any:
    """Returns a table of the ensemble and the networks, best first."""
    return self.history.leaderboard()

  def plot(self, path: Any = None) -> Any:
    """Draws the search. See `SearchHistory.plot`."""
    return self.history.plot(path)

  def __repr__(self) -> str:
    return f"<EnsembleSearch {history_lib.describe(vars(self).get('_path'))}>"

  def _repr_html_(self) -> str | None:
    """Shows the search in a notebook; None makes the notebook show the text."""
    if self._path is None or files.Directory(self._path).read() is None:
      return None
    return self.history._repr_html_()

  def study(self, name: str) -> Any:
    """Returns a new `optuna.Study` in memory with all trials of a function.

    For example, which hyperparameters count::

        optuna.importance.get_param_importances(search.study("dense"))

    A trial's value is the monitored value of its network or, with folds, of the
    mean of its networks; NaN counts as failed. User attributes have the name of
    the network, its `seconds` and its `parameters`.

    Args:
      name: str, the name of the function.

    Raises:
      ModuleNotFoundError: Optuna is not installed.
      ValueError: `name` is no function that takes a trial.
    """
    return studies.read_study(files.Directory(self._trained_path()), name,
                              self.history.networks)

  @property
  def members(self) -> list[ensemble_model.EnsembleMember]:
    """Name, weight and `keras.Model` of each member of the ensemble.

    With folds, a member is the mean of the networks of a function.

    Raises:
      ValueError: no ensemble exists yet, or a function in `models` now returns
        a different model.
    """
    return self._read_trained().build_members()

  def network(self, name: str) -> Any:
    """Returns a trained network as a `keras.Model`, in the ensemble or not.

    Args:
      name: str, the name in the leaderboard, such as "deep", "deep (2)" or
        "deep, fold 3 of 5".

    Raises:
      ValueError: no network that has ended has this `name`, or the function of
        the network now returns a different model.
    """
    return self._read_trained().build_network(name)

  @property
  def model(self) -> Any:
    """The ensemble, a `keras.Model` compiled with the loss and the metrics.

    The model maps `x` to predictions with the structure of `y`. The model is
    built once, and again after `fit` has selected another ensemble.

    Raises:
      ValueError: no ensemble exists yet, or a function in `models` now returns
        a different model.
    """
    trained = self._read_trained()
    selected = trained.read_ensemble()
    if self._built is None or self._built[0] != selected:
      model = trained.build_model()
      # Keras builds the optimizer of a model that it loads, and warns if the
      # file is of an optimizer that was not built.
      model.optimizer.build(model.trainable_variables)
      self._built = selected, model
    return self._built[1]

  @property
  def held_out(self) -> combining.HeldOutRows:
    """Labels of the held-out rows, and what is predicted for these rows.

    The leaderboard's values are of these outputs. They are for calibration,
    thresholds or a model of the outputs of all members.

    Raises:
      ValueError: no ensemble exists yet.
    """
    return self._read_trained().held_out()

  def _read_trained(self):
    trained = trained_lib.TrainedSearch(
        files.Directory(self._trained_path()), self._settings, self._judged_by)
    self._judged_by = trained.judged_by
    return trained

  def _trained_path(self):
    if self._path is None or files.Directory(self._path).read() is None:
      where = "" if self._path is None else f" in directory={self._path!r}"
      raise ValueError(f"Nothing was trained yet{where}: call fit(x, y).")
    return self._path
