# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: trains Keras models and selects their best ensemble.

The path of the data: `arrays` and `data` read and divide x, `engine` has
networks train, `network` takes batches of `rows` to the model's own training
step (`rows.Steps`), and `ensemble_model` selects the networks and builds
`search.model`. `proposals` says what trains in an iteration, and `preflight`
finds what does not fit before the first step.
"""

import contextlib
import itertools
import random
from typing import Any, TYPE_CHECKING

from adanet import checks
from adanet import forks
from adanet import interrupts
from adanet import tf_compat
from adanet.ensemble_search import arguments as arguments_lib
from adanet.ensemble_search import arrays
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import changes
from adanet.ensemble_search import combining
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import display as display_lib
from adanet.ensemble_search import engine as engine_lib
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import history as history_lib
from adanet.ensemble_search import identity
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import preflight
from adanet.ensemble_search import proposals
from adanet.ensemble_search import records
from adanet.ensemble_search import samples
from adanet.ensemble_search import trained as trained_lib
from adanet.ensemble_search import workers
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
    self._models = arguments_lib.read_models(models)
    # Resolved once, because the program may change its working directory.
    self._path = arguments_lib.absolute_path(directory)
    self._arguments = models_lib.CompileArguments(
        optimizer, loss, metrics, loss_weights)
    recorded = self._read_recorded() if loss is None else None
    if recorded is not None:
      self._arguments = models_lib.compile_arguments_from_json(
          self._path, recorded["arguments"], self._arguments._asdict())
      if monitor is None:
        monitor, mode = recorded["monitor"]
      if combine is None:
        combine = combining.registered_function(recorded["combine"])
    elif optimizer is None:
      self._arguments = self._arguments._replace(optimizer="adam")
    # Of the ensemble; None before they are known.
    self._judged_by: Any = (
        None if self._arguments.loss is None else self._arguments)
    self._monitor = arguments_lib.read_monitor(
        "val_loss" if monitor is None else monitor, mode)
    self._seed = checks.check_count("seed", seed, 0, 2**31, or_none=True)
    proposals.check_sampler(sampler)
    self._sampler = sampler
    combining.check_combine(combine)
    self._combine = combine
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

    A later call continues the search in `directory`: the call trains additional
    `iterations` and functions that `models` has more than before, and resumes
    after Ctrl-C. The data and `batch_size` must be the same as before. Where a
    network fails, the others go on, and the next call trains it again.

    The data:
      x: the inputs: an array, a nested structure of arrays, or a data frame. A
        frame of numbers alone is one array; any other frame is the dict of its
        columns that `adanet.columns` returns, which serves the model, too. Or a
        `tf.data.Dataset` of the batches `(x, y)` or `(x, y, sample_weight)` of
        one epoch, a `keras.utils.PyDataset`, or a function that returns any of
        these or a generator.
      y: the labels: numbers, in the same kinds of structures as `x`. None where
        `x` contains the labels.
      validation_data: tuple `(x, y)` or `(x, y, sample_weight)` of held-out
        data, or a dataset.
      validation_split: float between 0 and 1, the fraction of the rows to hold
        out where `validation_data` is None. `seed` picks the rows at random;
        Keras takes the last rows, which are whole classes of sorted data.
      folds: int, the number of parts to divide the rows of arrays into, with
        equally many rows of a class in each part. Each function then trains one
        network per part on the remaining rows, with the part as held-out data.
        Functions are compared on all rows. A member of the ensemble is the mean
        of the networks of a function. Or pairs of arrays with the numbers of
        rows that train and of held-out rows, as the splitters of scikit-learn
        give them: `folds=GroupKFold(5).split(x, y, groups)`. A row that no pair
        holds out does not count, and a row that two pairs hold out counts
        twice. `validation_split` is ignored. None for a single held-out part.
      sample_weight: array, the weight of each row in the loss, also of held-out
        rows; or a structure of arrays like `y`.
      class_weight: dict from class to weight, for models with one output. The
        weights also apply to the loss of held-out rows without sample weights.

    How a network trains:
      batch_size: int, the rows of a step; the last step of an epoch may have
        fewer. Ignored for a dataset.
      epochs: int, the maximum number of epochs of a network.
      patience: int, the number of epochs without improvement after which a
        network stops.
      callbacks: function that returns a list of new `keras.callbacks.Callback`
        objects for a network. The function may take the network's name. Hooks
        of batches are an error. None for no callbacks.

    How much of the search now:
      iterations: int, how many times to train all models, over all calls. The
        ensemble is selected from the networks of all iterations; of more than
        64, from the 64 best.
      trials: int, how many trials of each function that takes a trial to
        propose in an iteration, from the results of all earlier iterations; a
        sampler may have fewer. None without such functions.
      enqueue: dict from a function to a list of dicts of hyperparameters, which
        the next new trials have, once: `{"dense": [{"width_0": 64}]}`.
      max_members: int, the maximum number of networks (with folds: functions)
        in the ensemble, which bounds the cost of serving. None for no limit.
      max_seconds: float, the maximum seconds that this call trains, or None. A
        network that has not ended then is in the ensemble with its best epoch
        so far, and the next call trains it on. Selecting may take 10 % more.
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
      ValueError: a count, `max_seconds` or `verbose` is out of range; `trials`
        is missing, or no function takes a trial; `monitor` is no log of a
        model; the data do not fit the models, the loss or the metrics; a
        callback has hooks of batches; an argument cannot be sent to a worker;
        the workers of `executor` are forks; `directory` holds a search with
        other arguments or a function that has changed, or is in use; or all
        networks of the first iteration failed.
      TypeError: a count is not an integer, another number is not a number,
        `callbacks` is no function, `executor` is no executor, or `x` or `y` has
        an unsupported type.
      ModuleNotFoundError: a function takes a trial, and Optuna is missing.
      RuntimeError: the workers of `executor` died, and it starts no others.
      KeyboardInterrupt: Ctrl-C, or SIGTERM without a handler of the program; all
        training so far is saved. A program that does not catch
        KeyboardInterrupt ends with one line and the exit status 130, or 143
        after SIGTERM; the cell of a notebook ends with one line.
    """
    batch_size = checks.check_count("batch_size", batch_size)
    epochs = checks.check_count("epochs", epochs)
    patience = checks.check_count("patience", patience)
    iterations = checks.check_count("iterations", iterations)
    trials = checks.check_count("trials", trials, or_none=True)
    finalists = checks.check_count("finalists", finalists, or_none=True)
    max_members = checks.check_count("max_members", max_members, or_none=True)
    parallel = checks.check_count("parallel", parallel, or_none=True)
    folds = arguments_lib.check_folds(folds)
    arguments_lib.check_limits(
        max_seconds, verbose, executor, parallel, finalists, folds)
    proposals.check_trials(trials, enqueue, self._models)
    forks.check_process()
    models_lib.check_scope(
        "fit runs in", tf_compat.v2.distribute.get_strategy())
    if executor is not None:
      executor = forks.check_executor(executor)
    models_lib.check_callbacks(callbacks)
    stop = engine_lib.Stop(max_seconds)
    if self._path is None:
      self._temporary = arguments_lib.TemporaryFolder()
      self._path = self._temporary.path
    directory = files.Directory(self._path)
    before = directory.read()
    if self._seed is None:
      self._seed = (random.SystemRandom().randrange(2**31) if before is None
                    else before["seed"])
    splits, digests = data_lib.split_data(
        x, y, batch_size, validation_data, validation_split, sample_weight,
        class_weight, folds, self._seed)
    arguments_lib.check_finalists(finalists, len(splits))
    monitor = self._monitor
    digests.update(epochs=str(epochs), patience=str(patience), monitor=(
        f"{monitor.name} ({monitor.mode})"), **{
            name: identity.digest_argument(getattr(self._arguments, name))
            for name in ("loss", "loss_weights", "optimizer")})
    limits = judge_lib.Limits(
        iterations, trials, finalists, max_members, self._combine)
    example = network_lib.NetworkTask(
        records.NetworkKey(0, 0, ""), None, self._arguments, self._seed,
        callbacks, epochs, patience, monitor)
    with directory.locked(), display_lib.display(
        verbose, monitor.name) as display:
      samples.remove_damaged(directory)
      store = candidates_lib.CandidateStore(directory, repairs=True)
      proposer = proposals.Proposer(
          directory, store, self._models, example, len(splits), limits,
          self._sampler, enqueue)
      if before is not None:
        arguments_lib.compare(self._path, before, self._seed, digests)
      changes.check_functions(directory, store, proposer, splits)
      display.begin(self._path, splits, len(self._models))
      is_repeated = iterations * len(splits) > 1
      preparation = preflight.Preflight(
          splits, directory, store, self._models, self._arguments, self._combine,
          executor is not None, is_repeated)
      engine = engine_lib.SearchEngine(
          splits, directory, stop, display.epoch, preparation.kept, is_repeated,
          None if executor is None else lambda: workers.send(
              directory, workers.SentSearch(
                  self._models, example, splits[0].source,
                  getattr(splits[0].held_out, "source", None),
                  workers.settings(), workers.specs_of(splits[0].source)),
              executor, preparation.signed), parallel)
      self._train(proposer, preparation, engine, executor, display, lambda judge:
                  self._write(directory, splits, digests, limits, proposer,
                              before, judge, arrays.is_series(y)))
      display.end(self.history, stop.is_set())
    return self

  def _train(self, proposer, preparation, engine, executor, display, write):
    """Trains the networks that have not ended, and selects the ensemble."""
    judge = None

    def select():
      if judge is not None:
        proposer.judge_all(judge)
        judge_lib.select_ensemble(
            engine.directory, judge, proposer.shortlist(), engine.stop.is_late,
            display.line)

    try:
      for tasks in proposer.rounds():
        if proposer.unfinished(tasks):
          engine.prepare()
        late = preparation.check(proposer.unfinished(tasks))
        proposer.check_failures(tasks)
        judge = judge or write(
            preparation.make_judge(proposer.find_ended))
        for key, record in itertools.chain(
            late, proposer.failed(tasks), engine.train(preparation.copied(
                proposer.unfinished(tasks)), executor)):
          proposer.end(key, record, judge)
          display.network(key, record)
        proposer.check_failures(tasks)
        select()
        if engine.stop.is_set():
          break
    except BaseException:
      with contextlib.suppress(Exception):
        select()  # What has ended counts, whatever ended fit.
      raise
    if judge is None:
      write(None)

  def _write(self, directory, splits, digests, limits, proposer, before, judge,
             is_series):
    """Writes what the search is; returns the judge."""
    if judge is not None:
      judge_lib.check_recorded(
          directory, proposer.store, self._models, judge, proposer.judged_by)
      self._judged_by = judge.arguments
    elif before is None:
      raise ValueError("models: their functions have pruned all trials: expected "
                       "a model of at least one.")
    directory.write({
        **(before or {}), "seed": self._seed, "digests": digests,
        "models": list(self._models), "monitor": self._monitor,
        "finalists": limits.finalists, "max_members": limits.max_members,
        "combine": combining.registered_name(self._combine),
        "is_series": is_series, "stops": proposer.stops,
        "judged_by": proposer.judged_by,
        "arguments": self._arguments.to_json(),
        **samples.write(directory, splits),
        **({} if judge is None else {
            "judge": judge.arguments.to_json(), "outputs": judge.names})})
    return judge

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
    return proposals.read_study(files.Directory(self._trained_path()), name,
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
        files.Directory(self._trained_path()), self._models, self._arguments,
        self._judged_by, self._combine)
    self._judged_by = trained.judged_by
    return trained

  def _trained_path(self):
    if self._path is None or files.Directory(self._path).read() is None:
      where = "" if self._path is None else f" in directory={self._path!r}"
      raise ValueError(f"Nothing was trained yet{where}: call fit(x, y).")
    return self._path
