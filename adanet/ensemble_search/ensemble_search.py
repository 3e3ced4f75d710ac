# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: trains Keras models and selects their best ensemble.

The path of the data: `arrays` and `data` read and divide x, `engine` has
networks train, `network` takes batches of `rows` to the model's own training
step (`rows.Steps`), and `ensemble_model` selects the networks and builds
`search.model`. `proposals` says what trains in an iteration, and `preflight`
finds what does not fit before the first step.
"""

import random
from typing import Any, TYPE_CHECKING

from adanet import checks
from adanet import forks
from adanet import interrupts
from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import arguments as arguments_lib
from adanet.ensemble_search import engine as engine_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import history as history_lib
from adanet.ensemble_search import identity
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import preflight
from adanet.ensemble_search import proposals
from adanet.ensemble_search import rows as rows_lib
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
               metrics: Any = None, monitor: str = "val_loss",
               mode: str | None = None, optimizer: Any = None,
               loss_weights: Any = None, directory: Any = None,
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
        be the same in all models.
      metrics: as in `Model.compile`. With None, the metrics and the weighted
        metrics of the compiled models if `loss` is None, and otherwise no
        metrics.
      monitor: str, the value by which networks stop and keep their best
        weights, the ensemble is selected, and trials are compared: `val_loss`,
        or a metric of the search such as `val_auc`, which each model needs.
      mode: "min" or "max", as in `keras.callbacks.EarlyStopping`; required
        where `monitor` is not `val_loss`.
      optimizer: as in `Model.compile`, for models that are not compiled. None
        for Adam with a learning rate of .001.
      loss_weights: as in `Model.compile`.
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
        registered, or the backend of Keras is not TensorFlow.
      TypeError: `models` is no dict or list of functions, a function requires
        two arguments, `seed` is not an integer, or `sampler` or `combine` is no
        function.
      RuntimeError: this process was forked after TensorFlow had started.
    """
    forks.check_process()
    runtime.grow_gpu_memory()
    arguments_lib.check_backend()
    self._models = arguments_lib.read_models(models)
    self._arguments = models_lib.CompileArguments(
        "adam" if optimizer is None else optimizer, loss, metrics, loss_weights)
    # Of the ensemble; None before they are known.
    self._judged_by: Any = None if loss is None else self._arguments
    self._monitor = arguments_lib.read_monitor(monitor, mode)
    self._seed = checks.check_count("seed", seed, 0, 2**31, or_none=True)
    proposals.check_sampler(sampler)
    self._sampler = sampler
    combining.check_combine(combine)
    self._combine = combine
    self._built: Any = None  # The selected ensemble, and its model.
    self._temporary: Any = None  # Removed with the search.
    # Resolved once, because the program may change its working directory.
    self._path = files.absolute_path(directory)

  @classmethod
  @interrupts.errors_in_one_line()
  def load(cls, directory: Any, models: arguments_lib.Models, loss: Any = None,
           metrics: Any = None, optimizer: Any = None, sampler: Any = None,
           combine: Any = None) -> "EnsembleSearch":
    """Returns the search of a directory, for use in another program.

    Args:
      directory: path, the folder of the search, with `monitor` and the seed.
      models: the functions of the search.
      loss: the loss of the search. None for a loss of Keras, which `directory`
        records.
      metrics: as for `loss`.
      optimizer: as for `loss`.
      sampler: as in `EnsembleSearch`.
      combine: the function of the search. None for the function that Keras has
        registered under the name that `directory` records.

    Raises:
      ValueError: `directory` holds no search, or the search has a custom loss,
        metric, optimizer or `combine` that is missing in the arguments.
    """
    runtime.grow_gpu_memory()
    path = files.absolute_path(directory)
    content = None if path is None else files.Directory(path).read()
    if path is None or content is None:
      raise ValueError(f"directory={path!r} has no search of EnsembleSearch: "
                       "expected the directory of a search that was trained.")
    arguments = models_lib.compile_arguments_from_json(
        path, content["arguments"], {
            "loss": loss, "metrics": metrics, "optimizer": optimizer})
    for text in () if loss is None else arguments_lib.list_differences(
        {"loss": content["digests"]["loss"]},
        {"loss": identity.digest_argument(loss)}):
      log.warning("%s. Using the loss given to load().", text)
    if combine is None:
      ensemble = files.Directory(path).read(files.ENSEMBLE) or {"combine": ""}
      combine = combining.registered_function(ensemble["combine"])
    return cls(models, arguments.loss, arguments.metrics, *content["monitor"],
               arguments.optimizer, arguments.loss_weights, path,
               content["seed"], sampler, combine)

  @interrupts.in_one_line("Stopped. All training so far is saved: call fit "
                          "again to resume.")
  def fit(self, x: Any, y: Any = None, *, validation_data: Any = None,
          validation_split: float = .2, folds: Any = None,
          sample_weight: Any = None, class_weight: Any = None,
          batch_size: int = 32, epochs: int = 1000, patience: int = 5,
          callbacks: Any = None, iterations: int = 1, trials: int | None = None,
          enqueue: Any = None, max_members: int | None = None,
          max_seconds: float | None = None, executor: Any = None,
          parallel: int | None = None, verbose: Any = "auto"
         ) -> "EnsembleSearch":
    """Trains all models and selects the ensemble.

    A later call continues the search in `directory`: the call trains additional
    `iterations` and functions that `models` has more than before, and resumes
    after Ctrl-C. The data and `batch_size` must be the same as before.

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
        ensemble is selected from the networks of all iterations.
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
        the workers of `executor` are forks; or `directory` holds a search with
        other arguments, or is in use.
      TypeError: a count is not an integer, another number is not a number,
        `callbacks` is no function, `executor` is no executor, or `x` or `y` has
        an unsupported type.
      ModuleNotFoundError: a function takes a trial, and Optuna is missing.
      RuntimeError: a worker of `executor` died.
      KeyboardInterrupt: the user pressed Ctrl-C; all training so far is saved.
        A program that does not catch KeyboardInterrupt ends with one line and
        the exit status 130, and the cell of a notebook with one line.
    """
    batch_size = checks.check_count("batch_size", batch_size)
    epochs = checks.check_count("epochs", epochs)
    patience = checks.check_count("patience", patience)
    iterations = checks.check_count("iterations", iterations)
    trials = checks.check_count("trials", trials, or_none=True)
    max_members = checks.check_count("max_members", max_members, or_none=True)
    parallel = checks.check_count("parallel", parallel, or_none=True)
    folds = arguments_lib.check_folds(folds)
    arguments_lib.check_limits(max_seconds, verbose, executor, parallel)
    monitor, mode = self._monitor
    proposals.check_trials(trials, enqueue, self._models)
    forks.check_process()
    models_lib.check_scope(
        "fit runs in", tf_compat.v2.distribute.get_strategy())
    if executor is not None:
      executor = forks.check_executor(executor)
    models_lib.check_callbacks(callbacks)
    stop = engine_lib.Stop(max_seconds)
    if self._path is None:
      self._temporary = files.TemporaryFolder()
      self._path = self._temporary.path
    directory = files.Directory(self._path)
    before = directory.read()
    if self._seed is None:
      self._seed = (random.SystemRandom().randrange(2**31) if before is None
                    else before["seed"])
    splits, digests = data_lib.split_data(
        x, y, batch_size, validation_data, validation_split, sample_weight,
        class_weight, folds, self._seed)
    digests.update(epochs=str(epochs), patience=str(patience), monitor=(
        f"{monitor} ({mode})"), **{
            name: identity.digest_argument(getattr(self._arguments, name))
            for name in ("loss", "loss_weights", "optimizer")}, **{
                f"models[{name!r}]": "trials"
                for name in proposals.list_spaces(self._models)})
    example = network_lib.NetworkTask(
        files.NetworkKey(0, 0, ""), None, self._arguments, self._seed,
        callbacks, epochs, patience, self._monitor)
    with directory.locked(), history_lib.display(verbose, monitor) as display:
      proposer = proposals.Proposer(
          directory, self._models, example, len(splits), self._sampler, trials,
          enqueue)
      if before is not None:
        self._compare(before, digests, proposer.differences())
      proposer.warn(iterations)
      if proposals.is_done(
          directory, list(map(proposer.recorded, range(iterations))),
          max_members, combining.registered_name(self._combine),
          self._arguments.to_json()) and combining.is_unchanged(
              directory, self._combine):
        # Nothing is traced where nothing is left to train.
        digests.update(preflight.digest_functions([
            task for task in proposer.tasks_of_functions(0)
            if not task.key.fold]))
        self._compare(before, digests, warns=True)
        display.begin(self._path, splits, len(self._models))
      else:
        preparation = preflight.Preflight(
            splits, directory, self._arguments, self._combine,
            executor is not None)
        sent = None if executor is None else workers.send(
            directory, workers.SentSearch(
                self._models, example, splits[0].source,
                getattr(splits[0].held_out, "source", None),
                workers.settings(), workers.specs_of(splits[0].source)),
            executor, preparation.signed)
        engine = engine_lib.SearchEngine(
            splits, directory, stop, display.epoch, preparation.kept,
            iterations * len(splits) > 1, sent, parallel)
        self._train(proposer, iterations, preparation, engine, executor, before,
                    digests, max_members, display)
      display.end(self.history, stop.is_set())
    return self

  def _train(self, proposer, iterations, preparation, engine, executor, before,
             digests, max_members, display):
    """Trains the networks that have not ended, and selects the ensemble."""
    directory = engine.directory
    judge, tasks = None, []
    find_repeated = lambda: proposals.repeated_functions(
        directory, *map(proposer.tasks_of_functions, range(2)))
    repeated = []  # Functions.
    for iteration in range(iterations):
      # Without new trials, the ensemble is selected from the earlier ones.
      tasks = proposer.propose(iteration) or tasks
      if not tasks or iteration < iterations - 1 and proposals.is_judged(
          directory, tasks):
        if iteration == 1:  # Of an earlier call.
          repeated = find_repeated()
        continue
      preparation.check([
          task for i in range(iterations)
          for task in proposer.tasks_of_functions(i)] + [
              task for task in tasks if task.key.trial])
      if judge is None:
        judge = self._begin(
            preparation, engine.splits, directory, before, digests)
        display.begin(self._path, engine.splits, len(self._models))
      unfinished = [
          task._replace(copies=task.key.maker in preparation.copying)
          for task in tasks if task.key.maker not in repeated and
          directory.folder(task.key).finished_record() is None]
      if any(task.callbacks is not None and directory.folder(
          task.key).read_record() for task in unfinished):
        log.warning("Resuming networks; their callbacks start fresh.")
      for key, record in engine.train(unfinished, executor):
        display.network(key, record)
      ensemble_model.select_ensemble(
          directory, judge, max_members, engine.stop.is_late, display.line)
      if engine.stop.is_set():
        break
      if iteration == 1:
        repeated = find_repeated()
    if judge is None and directory.read(files.ENSEMBLE) is None:
      raise ValueError("models: their functions have pruned all trials: expected "
                       "a model of at least one.")

  def _begin(self, preparation, splits, directory, before, digests):
    """Writes what the search is, and returns its judge."""
    judge = preparation.make_judge()
    self._judged_by = judge.arguments
    digests.update(preparation.digests)
    if before is not None:
      self._compare(before, digests, warns=True)
      preflight.check_recorded_loss(directory, judge)
    directory.write_held_out_rows(
        [split.held_out_rows() for split in splits])
    directory.write({
        **self._describe(digests),
        "monitor": judge.monitor,
        "arguments": self._arguments.to_json(),
        "judge": judge.arguments.to_json(),
        "outputs": judge.names,
        "x": splits[0].layout().structure[0],
        "specs": rows_lib.write_sample(directory, splits)})
    return judge

  def _compare(self, before, digests, others=(), warns=False):
    arguments_lib.compare(
        self._path, before, self._describe(digests), others, warns)

  def _describe(self, digests):
    return {"seed": self._seed, "digests": digests,
            "models": list(self._models)}

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
    return [ensemble_model.EnsembleMember(
        member.name, member.weight, networks[0].model if len(
            networks) == 1 else self._build_ensemble(networks))
            for member, networks in self._build_networks()]

  def _build_networks(self):
    """Yields each member of the ensemble, and its networks as members of it."""
    self._read_ensemble()
    directory, content, _, samples = self._read()
    for member in self.history.members:
      if member.weight:
        yield member, [ensemble_model.EnsembleMember(
            network.name, 1 / len(member.networks), self._build_network(
                network.name, directory, content, samples))
                       for network in member.networks]

  def _build_ensemble(self, members):
    """Returns the model of an ensemble of members."""
    _, content, layout, samples = self._read()
    return ensemble_model.ensemble(
        members, layout, self._judged_by, content["outputs"], samples[0],
        self._combine)

  def network(self, name: str) -> Any:
    """Returns a trained network as a `keras.Model`, in the ensemble or not.

    Args:
      name: str, the name in the leaderboard, such as "deep", "deep (2)" or
        "deep, fold 3 of 5".

    Raises:
      ValueError: no network that has ended has this `name`, or the function of
        the network now returns a different model.
    """
    directory, content, _, samples = self._read()
    members = self.history.members
    known = [network.name for member in members for network in member.networks]
    if name not in known:
      advice = " The mean of folds is in search.members." * (
          name in [member.name for member in members])
      raise ValueError(f"name={name!r}: expected the name of a finished "
                       f"network: {', '.join(map(repr, known))}.{advice}")
    return self._build_network(name, directory, content, samples)

  def _build_network(self, name, directory, content, samples):
    """Returns a network, rebuilt by its function, with the trained weights."""
    key = next(key for key in directory.keys() if key.name == name)
    if key.function not in self._models:
      raise ValueError(f"The search has a function {key.function!r} that is "
                       "not in models. Pass the original functions.")
    task = network_lib.NetworkTask(
        key, self._models[key.function], self._judged_by, content["seed"],
        hyperparameters=next((
            trial.hyperparameters for trial in directory.trials()
            if (trial.function, trial.number) == (key.function, key.trial)),
                             None))
    return ensemble_model.build_member(
        task, samples[key.fold], directory.folder(key))

  @property
  def model(self) -> Any:
    """The ensemble, a `keras.Model` compiled with the loss and the metrics.

    The model maps `x` to predictions with the structure of `y`. The model is
    built once, and again after `fit` has selected another ensemble.

    Raises:
      ValueError: no ensemble exists yet, or a function in `models` now returns
        a different model.
    """
    selected = self._read_ensemble()
    if self._built is None or self._built[0] != selected:
      members = self.members if self._combine is None else [
          network._replace(weight=member.weight * network.weight)
          for member, networks in self._build_networks()
          for network in networks]
      model = self._build_ensemble(members)
      # Keras builds the optimizer of a model that it loads, and warns if the
      # file is of an optimizer that was not built.
      model.optimizer.build(model.trainable_variables)
      self._built = selected, model
    return self._built[1]

  @property
  def held_out(self) -> list[combining.HeldOutFold]:
    """The predictions for the held-out rows, a `HeldOutFold` for each fold.

    The leaderboard's values are of these outputs. They are for calibration,
    thresholds or a model of the outputs of all members.

    Raises:
      ValueError: no ensemble exists yet.
    """
    members = self._read_ensemble()["members"]
    return combining.read_held_out(
        files.Directory(self._trained_path()), members, self._combine)

  def _read_ensemble(self):
    """Returns the content of ensemble.json, if `combine` is the same."""
    directory, *_ = self._read()
    selected = directory.read(files.ENSEMBLE)
    combining.check_recorded(directory, self._combine)
    return selected

  def _read(self):
    """Returns what models are built by.

    These are the directory, the content of search.json, the layout of x and a
    few rows of each fold.
    """
    forks.check_process()
    directory = files.Directory(self._trained_path())
    content = directory.read()
    if directory.read(files.ENSEMBLE) is None:
      raise ValueError("No network has finished yet. Call fit again with the "
                       "same data.")
    if self._judged_by is None:
      self._judged_by = models_lib.compile_arguments_from_json(
          self._path, content["judge"], {
              "optimizer": self._arguments.optimizer})
    return directory, content, *rows_lib.read_sample(directory, content)

  def _trained_path(self):
    if self._path is None or files.Directory(self._path).read() is None:
      raise ValueError("Nothing was trained yet: call fit(x, y).")
    return self._path
