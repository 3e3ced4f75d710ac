# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: Keras models in, an ensemble of them out.

How x goes: `fit` reads it (`data`), `network` trains on its rows by the model's
own steps (`steps`), `judge` compares what networks predict for held-out rows,
and `ensemble_model` makes `search.model` of those that are selected.
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
from adanet.tf_compat import gpus

keras = tf_compat.keras_3
_VERSION = 1
# What another call of `fit` may change.
_LIMITS = ("epochs", "patience")


def _is_model(name):
  return name.startswith("models[")


class EnsembleSearch:
  """Trains Keras models, and selects an ensemble of them: a Keras model.

  Use it as a model of Keras::

      search = adanet.EnsembleSearch(
          {"wide": make_wide, "deep": make_deep},
          loss="sparse_categorical_crossentropy", metrics=["accuracy"],
          directory="digits")
      search.fit(x, y)
      search.model.save("digits.keras")

  `fit` holds rows out. Each network trains as `Model.fit` trains it, until its
  loss on these rows is no better for `patience` epochs, and keeps the values of
  its best epoch. Then networks are selected, so that the mean of their outputs
  has the least loss on the same rows. The mean is that of probabilities where
  models end in a softmax, and that of logits where the loss says
  `from_logits=True`.

  On the CPU, a network is the one that `Model.fit` makes of the same batches,
  to the last bit, whichever networks train beside it, in whatever process.

  All that is learned is in `directory`. After Ctrl-C, `fit` goes on there.

  It needs Keras 3: TensorFlow 2.16 or later.
  """

  def __init__(self, models: Any, loss: Any = None, metrics: Any = None,
               optimizer: Any = None, loss_weights: Any = None,
               directory: Any = None, seed: int | None = None,
               **kwargs: Any) -> None:
    """Trains nothing, and writes nothing yet.

    Args:
      models: dict from a name to a function without arguments, which makes a
        Keras model, compiled or not, a new one at each call. Or a list of such
        functions, which are named as they are.
      loss: as `Model.compile` takes it. It trains models that are not compiled,
        and judges ensembles. None for the loss with which the models are
        compiled, which must be the same.
      metrics: as `Model.compile` takes them; None for the metrics with which
        the models are compiled if `loss` is None, too, or else for none.
      optimizer: as `Model.compile` takes it, for models that are not compiled;
        None for Adam with a learning rate of .001.
      loss_weights: as `Model.compile` takes them.
      directory: path, the folder of the search; None for a new temporary one.
      seed: int, of all that is random; None for another one each time.
      **kwargs: none: for the errors of unknown arguments.

    Raises:
      ValueError: an argument is not as described.
      TypeError: an argument is of another type, or unknown.
    """
    # Keras makes an optimizer to check a name: before that.
    gpus.grow_memory()
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
    # Made absolute once: the program may change its working directory.
    self._path = files.absolute(directory)
    self._judged: making.Compiling | None = None

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
    gpus.grow_memory()
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
    """Trains all models, and selects the ensemble.

    Another call goes on in `directory`: with more `iterations` it adds some,
    and after Ctrl-C it resumes. What was given before must be the same, but for
    `epochs`, `patience` and `max_members`.

    Args:
      x: the inputs: an array, a nested structure of arrays, or a data frame,
        which is one matrix. Or a `tf.data.Dataset` of batches `(x, y)` or
        `(x, y, sample_weight)`, of one epoch; a `keras.utils.PyDataset`; or a
        function that returns one of these, or a generator.
      y: the labels: numbers, in the same kinds of structures. None where `x`
        has them.
      batch_size: int, how many rows a step takes; the last one of an epoch may
        take fewer. Without effect on a dataset.
      epochs: int, after how many epochs a network ends at the latest: a limit,
        not a choice.
      validation_data: tuple `(x, y)` or `(x, y, sample_weight)` of held-out
        data, used as it is; or a dataset.
      validation_split: float between 0 and 1, the part of the rows to hold out
        where `validation_data` is None. `seed` picks the rows. Keras takes the
        last ones, and so whole classes of sorted data.
      sample_weight: array, the weight of each row in the loss, also of held-out
        rows; or a structure of arrays as `y` is one.
      class_weight: dict from class to weight, for labels of one output. It
        counts in the loss of held-out rows, too, unless these have weights.
      patience: int, after how many epochs in a row that are no better a network
        ends.
      iterations: int, how many times all models are trained, in all calls
        together. The ensemble is selected from all networks.
      folds: int, into how many parts to divide the rows of arrays, as many of
        each class in each part. Each function then trains so many networks,
        each on the rows outside of one part, by which it ends. Functions are
        compared on all rows, and a member of the ensemble is the mean of the
        networks of a function. None for one held-out part: `validation_split`,
        which has no effect with folds, or `validation_data`.
      max_members: int, how many functions the ensemble has at most, or networks
        where there are no folds: what the ensemble costs to serve. None for
        any number.
      callbacks: function that returns a list of new `keras.callbacks.Callback`
        for a network; it may take the network's name. Hooks of batches are
        refused. None for no callbacks.
      max_seconds: float, how long this call may train; None for no limit.
      executor: `concurrent.futures.Executor` whose workers train the networks,
        with the same figures; None for threads of this process.
      verbose: "auto" or 1 for a display or lines, 2 for a line each epoch, 0
        for nothing.
      **kwargs: none: for the errors of unknown arguments.

    Returns:
      This search.

    Raises:
      ValueError: an argument is not as described, or the directory has another
        search.
      TypeError: an argument is of another type, or unknown.
      KeyboardInterrupt: Ctrl-C; all training so far is saved.
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
    """Trains networks that are not done."""
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
    """The history of the search: its networks with their curves."""
    return history_lib.read(self._found_path())

  def leaderboard(self) -> Any:
    """Returns the ensemble and the networks as a table, the best first."""
    return self.history.leaderboard()

  def plot(self, path: Any = None) -> Any:
    """Draws the search; see `SearchHistory.plot`."""
    return self.history.plot(path)

  @property
  def members(self) -> list[ensemble_model.EnsembleMember]:
    """Name, weight and `keras.Model` of each member of the ensemble.

    With folds, a member is the mean of the networks of a function.

    Raises:
      ValueError: there is no ensemble yet, or a function makes another model.
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
    """Returns a trained network, in the ensemble or not: a `keras.Model`.

    Args:
      name: str, as in the leaderboard: "deep", "deep (2)", or "deep, fold 3
        of 5".

    Raises:
      ValueError: there is no such network, or its function makes another model.
    """
    keys = {key.name: key for key in history_lib.keys(self._found()[2])}
    if name not in keys:
      raise ValueError(f"name={name!r}: expected that of a network that has "
                       f"ended: {', '.join(map(repr, keys))}.")
    return self._network(keys[name])

  def _network(self, key):
    """Returns a network, made again by its function, with its values."""
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
    """The ensemble, a `keras.Model` that is compiled with loss and metrics.

    It takes x, and returns predictions, as the data of `fit` are. Each read
    makes a new one.

    Raises:
      ValueError: there is no ensemble yet, or a function makes another model.
    """
    _, content, found = self._found()
    return ensemble_model.ensemble(
        self.members, trial.layout_of(content["x"]), self._compiling(content),
        found["names"])

  def _compiling(self, content):
    """Returns what the ensemble is compiled with."""
    if self._given.loss is not None:
      return self._given
    if self._judged is not None:
      return self._judged
    return self._given._replace(**{
        name: trial.loaded(self._path, name, content["judge"][name])
        for name in ("loss", "metrics", "loss_weights")})

  def _found(self):
    """Returns the directory, what the search is, and its ensemble."""
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
    """Raises an error if the directory has a search of something else.

    Args:
      before: what the directory has.
      given: dict from an argument to its text with a digest: all arguments, or
        all but the models, which have to be made for theirs.
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
    """Writes what the search is, and warns of what could not be compared."""
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
