# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: trains Keras models and selects their best ensemble.

The path of the data: `data` reads x, `network` trains on the rows with the
model's own training step (`steps`), `judge` compares the predictions for
held-out rows, and `ensemble_model` builds `search.model` from the selected
networks.
"""

import random
import tempfile
from typing import Any

from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import callbacks as callbacks_lib
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import digests
from adanet.ensemble_search import engine
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import history as history_lib
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import making
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import reuse
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import show
from adanet.ensemble_search import trial
from adanet.ensemble_search import words
from adanet.tf_compat import runtime

keras = tf_compat.keras_3
_VERSION = 1
# Arguments that a later call of `fit` may change.
_LIMITS = ("epochs", "patience")


def _is_model(name):
  return name.startswith("models[")


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

  def __init__(self, models: Any, loss: Any = None, metrics: Any = None,
               optimizer: Any = None, loss_weights: Any = None,
               directory: Any = None, seed: int | None = None,
               **kwargs: Any) -> None:
    """Checks the arguments; trains and writes nothing yet.

    Args:
      models: dict from name to a function without arguments that returns a new
        Keras model at each call, compiled or not; or a list of such functions,
        each named by its `__name__`.
      loss: as in `Model.compile`, to train models that are not compiled and to
        compare ensembles. None for the loss of the compiled models, which must
        be the same in all models.
      metrics: as in `Model.compile`. With None, the metrics of the compiled
        models if `loss` is None, and otherwise no metrics.
      optimizer: as in `Model.compile`, for models that are not compiled. None
        for Adam with a learning rate of .001.
      loss_weights: as in `Model.compile`.
      directory: path, the folder of the search. None for a new temporary
        folder.
      seed: int from 0 to 2**31 - 1, the seed of all random choices. None for
        a random seed.
      **kwargs: not accepted; unknown names raise a TypeError with advice.

    Raises:
      ValueError: `models` is empty, a name in `models` cannot be the name of a
        folder, a function in `models` needs arguments, Keras does not know a
        name in `loss`, `metrics` or `optimizer`, `seed` is out of range, or the
        backend of Keras is not TensorFlow.
      TypeError: `models` is no dict or list of functions, or an argument is
        unknown.
    """
    # Before Keras creates an optimizer to check its name.
    runtime.grow_gpu_memory()
    words.check_arguments("EnsembleSearch", sorted(kwargs))
    backend = keras.backend.backend()
    if backend != "tensorflow":
      raise ValueError(f"EnsembleSearch needs Keras's backend \"tensorflow\", "
                       f"and it is {backend!r}: set KERAS_BACKEND=tensorflow.")
    self._models = words.checked_models(models)
    self._given = making.Compiling(
        "adam" if optimizer is None else optimizer, loss, metrics, loss_weights)
    trial.check_compiling(self._given)
    words.check_seed(seed)
    self._seed = seed
    # Resolved once, because the program may change its working directory.
    self._path = files.absolute(directory)
    self._judged: making.Compiling | None = None

  def __getattr__(self, name: str) -> Any:
    raise words.attribute_error("EnsembleSearch", name)

  @classmethod
  def load(cls, directory: Any, models: Any, loss: Any = None,
           metrics: Any = None, optimizer: Any = None) -> "EnsembleSearch":
    """Returns the search of a directory, for use in another program.

    Args:
      directory: path, the folder of the search.
      models: the functions of the search.
      loss: the loss of the search. None for a loss of Keras, which `directory`
        records.
      metrics: as for `loss`.
      optimizer: as for `loss`.

    Raises:
      ValueError: `directory` holds no search, or the search has a custom loss,
        metric or optimizer that is missing in the arguments.
    """
    runtime.grow_gpu_memory()
    path = files.absolute(directory)
    content = None if path is None else files.Directory(path).read()
    if path is None or content is None:
      raise ValueError(f"directory={path!r} has no search of EnsembleSearch: "
                       "expected the directory of one that was trained.")
    arguments = {"loss": loss, "metrics": metrics, "optimizer": optimizer,
                 "loss_weights": None}
    for name, value in arguments.items():
      if value is None:
        arguments[name] = trial.loaded(path, name, content["arguments"][name])
    return cls(models, directory=path, seed=content["seed"], **arguments)

  def fit(self, x: Any, y: Any = None, batch_size: int = 32,
          epochs: int = 1000, validation_data: Any = None,
          validation_split: float = .2, sample_weight: Any = None,
          class_weight: Any = None, patience: int = 5, iterations: int = 1,
          folds: int | None = None, max_members: int | None = None,
          callbacks: Any = None, max_seconds: float | None = None,
          executor: Any = None, verbose: Any = "auto", **kwargs: Any
         ) -> "EnsembleSearch":
    """Trains all models and selects the ensemble.

    A later call continues the search in `directory`: the call trains additional
    `iterations`, and resumes after Ctrl-C. All arguments must be the same as
    before except `epochs`, `patience`, `iterations` and `max_members`.

    Args:
      x: the inputs: an array, a nested structure of arrays, or a data frame,
        which counts as one matrix. Or a `tf.data.Dataset` of the batches
        `(x, y)` or `(x, y, sample_weight)` of one epoch, a
        `keras.utils.PyDataset`, or a function that returns any of these or a
        generator.
      y: the labels: numbers, in the same kinds of structures as `x`. None where
        `x` contains the labels.
      batch_size: int, the rows of a step; the last step of an epoch may have
        fewer. Ignored for a dataset.
      epochs: int, the maximum number of epochs of a network.
      validation_data: tuple `(x, y)` or `(x, y, sample_weight)` of held-out
        data, or a dataset.
      validation_split: float between 0 and 1, the fraction of the rows to hold
        out where `validation_data` is None. `seed` picks the rows at random;
        Keras takes the last rows, which are whole classes of sorted data.
      sample_weight: array, the weight of each row in the loss, also of held-out
        rows; or a structure of arrays like `y`.
      class_weight: dict from class to weight, for models with one output. The
        weights also apply to the loss of held-out rows without sample weights.
      patience: int, the number of epochs without improvement after which a
        network stops.
      iterations: int, how many times to train all models, over all calls. The
        ensemble is selected from the networks of all iterations.
      folds: int, the number of parts to divide the rows of arrays into, with
        equally many rows of a class in each part. Each function then trains one
        network per part on the remaining rows, with the part as held-out data.
        Functions are compared on all rows. A member of the ensemble is the mean
        of the networks of a function. `validation_split` is ignored. None for
        one held-out part: `validation_data` or `validation_split`.
      max_members: int, the maximum number of networks in the ensemble (with
        folds: of functions), which bounds the cost of serving. None for no
        limit.
      callbacks: function that returns a list of new `keras.callbacks.Callback`
        objects for a network. The function may take the network's name. Hooks
        of batches are an error. None for no callbacks.
      max_seconds: float, the maximum time in seconds that this call trains;
        None for no limit.
      executor: `concurrent.futures.Executor` whose workers train the networks,
        with the same results. None for threads of this process.
      verbose: "auto" or 1 for a display or log lines, 2 for a line per epoch, 0
        for no output.
      **kwargs: not accepted; unknown names raise a TypeError with advice.

    Returns:
      This search.

    Raises:
      ValueError: `batch_size`, `epochs`, `patience`, `iterations`, `folds`,
        `max_members`, `max_seconds` or `verbose` is out of range; the data do
        not fit the models, the loss or the metrics; a callback has hooks of
        batches; or `directory` holds a search with other arguments.
      TypeError: `callbacks` is no function, `executor` is no executor, `x` or
        `y` has an unsupported type, or an argument is unknown.
      KeyboardInterrupt: the user pressed Ctrl-C; all training so far is saved.
    """
    words.check_arguments("fit", sorted(kwargs))
    words.check_fit({"batch_size": batch_size, "epochs": epochs,
                     "patience": patience, "iterations": iterations},
                    folds, max_members, max_seconds, verbose, executor)
    callbacks_lib.check(callbacks)
    stop = engine.Stop(max_seconds)
    path = self._made_path()
    directory = files.Directory(path)
    before = directory.read()
    self._seed = self._seed if self._seed is not None else (
        random.SystemRandom().randrange(2**31) if before is None else
        before["seed"])
    data, given = data_lib.checked(
        x, y, batch_size, validation_data, validation_split, sample_weight,
        class_weight, folds, self._seed)
    with directory.locked():
      settings = making.KerasSettings.here()
      tasks = [[network_lib.NetworkTask(
          files.Key(iteration, fold, name, len(data)), function, self._given,
          self._seed, callbacks, epochs, patience, settings)
                for name, function in self._models.items()
                for fold in range(len(data))] for iteration in range(iterations)
              ]
      digest = digests.Digest()
      given.update(
          epochs=str(epochs), patience=str(patience),
          callbacks=digest.text(callbacks), **{
              name: digest.text(getattr(self._given, name)) for name in (
                  "loss", "loss_weights", "optimizer")})
      if before is not None:
        self._check_given(before, given)
      tried = trial.tried(tasks, data, directory, self._given, digest)
      self._judged = tried.compiling
      self._write(directory, before, {**given, **tried.given}, tried,
                  digest.unknown, data[0].layout())
      for fold, rows in enumerate(data):
        directory.write_sample(
            fold, rows_lib.sample_of(rows.held_out, rows.layout()))
      lent = reuse.EndedNetworks() if iterations * len(data) > 1 else None
      with show.shown(verbose) as display:
        display.began(path, data, len(self._models))
        for some in tasks:
          self._train(some, data, directory, stop, executor, display, tried,
                      lent)
          judge_lib.select(directory, tried.judge, tried.names, max_members)
          if stop.is_set():
            break
        display.ended(self.history, stop.is_set())
    return self

  def _train(self, tasks, data, directory, stop, executor, display, tried,
             lent):
    """Trains the networks that have not ended."""
    left = [task for task in tasks
            if directory.folder(task.key).record() is None]
    if any(task.callbacks is not None and directory.folder(
        task.key).running() for task in left):
      log.warning("Networks go on, and their callbacks begin anew.")
    if executor is not None:
      ended = engine.on_executor(left, data, directory, stop, display.epoch,
                                 executor)
    else:
      train = (engine.with_shared_data if data[0].is_shared else
               engine.in_threads)
      ended = train(left, data, directory, stop, display.epoch, tried.made,
                    lent)
    try:
      for key, record in ended:
        display.network(key, record)
    except KeyboardInterrupt:
      display.interrupted()
      raise

  @property
  def history(self) -> history_lib.SearchHistory:
    """The `SearchHistory`: all networks with their learning curves."""
    return history_lib.read(self._found_path())

  def leaderboard(self) -> Any:
    """Returns a table of the ensemble and the networks, best first."""
    return self.history.leaderboard()

  def plot(self, path: Any = None) -> Any:
    """Draws the search. See `SearchHistory.plot`."""
    return self.history.plot(path)

  @property
  def members(self) -> list[ensemble_model.EnsembleMember]:
    """Name, weight and `keras.Model` of each member of the ensemble.

    With folds, a member is the mean of the networks of a function.

    Raises:
      ValueError: no ensemble exists yet, or a function in `models` now returns
        a different model.
    """
    _, content, found = self._found()
    result = []
    for name, weight, keys in history_lib.members(found):
      networks = [ensemble_model.EnsembleMember(
          key.name, 1 / len(keys), self._network(key)) for key in keys]
      result.append(ensemble_model.EnsembleMember(
          name, weight, networks[0].model if len(keys) == 1 else
          ensemble_model.ensemble(
              networks, trial.layout_of(content["x"]),
              self._compiling(content), found["names"])))
    return result

  def network(self, name: str) -> Any:
    """Returns a trained network as a `keras.Model`, in the ensemble or not.

    Args:
      name: str, the name in the leaderboard, such as "deep", "deep (2)" or
        "deep, fold 3 of 5".

    Raises:
      ValueError: no network that has ended has this `name`, or the function of
        the network now returns a different model.
    """
    keys = {key.name: key for key in history_lib.keys(self._found()[2])}
    if name not in keys:
      raise ValueError(f"name={name!r}: expected that of a network that has "
                       f"ended: {', '.join(map(repr, keys))}.")
    return self._network(keys[name])

  def _network(self, key):
    """Returns a network, rebuilt by its function, with the trained weights."""
    directory, content, _ = self._found()
    if key.function not in self._models:
      raise ValueError(f"models has no {key.function!r}, which the search "
                       "has: give the functions of before.")
    return ensemble_model.member(
        f"models[{key.function!r}]", self._models[key.function],
        self._compiling(content), key.seed(content["seed"]),
        trial.layout_of(content["x"]), directory, key)

  @property
  def model(self) -> Any:
    """The ensemble, a `keras.Model` compiled with the loss and the metrics.

    The model maps `x` to predictions with the structure of `y`. Each read of
    this property builds a new model.

    Raises:
      ValueError: no ensemble exists yet, or a function in `models` now returns
        a different model.
    """
    _, content, found = self._found()
    return ensemble_model.ensemble(
        self.members, trial.layout_of(content["x"]), self._compiling(content),
        found["names"])

  def _compiling(self, content):
    """Returns the loss, metrics and loss weights of the ensemble."""
    if self._given.loss is not None:
      return self._given
    if self._judged is not None:
      return self._judged
    return self._given._replace(**{
        name: trial.loaded(self._path, name, content["judge"][name])
        for name in ("loss", "metrics", "loss_weights")})

  def _found(self):
    """Returns the directory and the contents of its two JSON files."""
    directory = files.Directory(self._found_path())
    content, found = directory.read(), directory.ensemble()
    if found is None:
      raise ValueError("No network has ended yet: call fit with the data of "
                       "before to go on.")
    return directory, content, found

  def _found_path(self):
    if self._path is None or files.Directory(self._path).read() is None:
      raise ValueError("Nothing was trained yet: call fit(x, y).")
    return self._path

  def _made_path(self):
    if self._path is None:
      self._path = tempfile.mkdtemp()
      log.warning("directory=None: the search goes to %s.", self._path)
    return self._path

  def _check_given(self, before, given):
    """Raises a ValueError if the directory holds a search with other arguments.

    Args:
      before: the recorded content of the directory.
      given: dict from an argument to its text with a digest: all arguments, or
        all except the models, whose digest needs the built model.
    """
    has_models = any(map(_is_model, given))
    found = digests.differences(*(
        {name: text for name, text in one.items()
         if name not in _LIMITS and (has_models or not _is_model(name))}
        for one in (before["given"], given)))
    if before["seed"] != self._seed:
      found.insert(0, f"seed: {before['seed']} before, {self._seed} now")
    if found:
      raise ValueError(
          f"directory={self._path!r} has a search with something else: "
          f"{'; '.join(found)}. Give what it had, or another directory.")

  def _write(self, directory, before, given, tried, unknown, layout):
    """Records the search, and warns of arguments that it cannot compare."""
    if before is not None:
      self._check_given(before, given)
      changed = digests.differences(*(
          {name: one[name] for name in _LIMITS} for one in (
              before["given"], given)))
      if changed:
        log.warning("%s: networks that have ended stay as they are.",
                    "; ".join(changed))
      if unknown:
        log.warning("The search goes on, and these could not be compared with "
                    "what it had: %s.", ", ".join(unknown))
    saved = lambda one: {name: trial.saved(getattr(one, name)) for name in (
        "loss", "metrics", "loss_weights", "optimizer")}
    directory.write({
        "version": _VERSION, "seed": self._seed, "given": given,
        "models": list(self._models),
        "arguments": saved(self._given), "judge": saved(tried.compiling),
        "x": trial.layout_content(layout)})
