# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.EnsembleSearch`: trains Keras models and selects their best ensemble.

The path of the data: `data` reads x, `engine` has networks train, `network`
takes batches of `rows` to the model's own training step (`rows.Steps`), and
`ensemble_model` builds `search.model` from the selected networks. Before,
`trial` finds what does not fit; after, `judge` compares predictions for
held-out rows.
"""

import random
import tempfile
from typing import Any

from adanet import forks
from adanet import log
from adanet import tf_compat
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
from adanet.ensemble_search import show
from adanet.ensemble_search import trial
from adanet.ensemble_search import words
from adanet.ensemble_search import workers
from adanet.tf_compat import runtime

keras = tf_compat.keras_3
# Arguments that a later call of `fit` may change.
_LIMITS = ("epochs:", "patience:")


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
      metrics: as in `Model.compile`. With None, the metrics and the weighted
        metrics of the compiled models if `loss` is None, and otherwise no
        metrics.
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
        folder, `seed` is out of range, or the backend of Keras is not
        TensorFlow.
      TypeError: `models` is no dict or list of functions, or an argument is
        unknown.
    """
    forks.check_process()
    runtime.grow_gpu_memory()
    words.check_arguments("EnsembleSearch", EnsembleSearch, sorted(kwargs))
    backend = keras.backend.backend()
    if backend != "tensorflow":
      raise ValueError(f"EnsembleSearch needs Keras's backend \"tensorflow\", "
                       f"and it is {backend!r}: set KERAS_BACKEND=tensorflow.")
    self._models = words.checked_models(models)
    self._given = making.Compiling(
        "adam" if optimizer is None else optimizer, loss, metrics, loss_weights)
    # What the ensemble is compiled with; None before it is known.
    self._judged: Any = None if loss is None else self._given
    words.check_seed(seed)
    self._seed = seed
    # Resolved once, because the program may change its working directory.
    self._path = files.absolute(directory)

  def __getattr__(self, name: str) -> Any:
    raise words.attribute_error(name, keras.Model)

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
    given = making.loaded(path, content["arguments"], {
        "loss": loss, "metrics": metrics, "optimizer": optimizer})
    if loss is not None:
      for one in digests.differences(
          {"loss": content["given"]["loss"]},
          {"loss": digests.Digest().text(loss)}):
        log.warning("%s. Models are compiled with the one of now.", one)
    return cls(models, given.loss, given.metrics, given.optimizer,
               given.loss_weights, path, content["seed"])

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
    words.check_arguments("fit", self.fit, sorted(kwargs))
    for name, value, least in (
        ("batch_size", batch_size, 1), ("epochs", epochs, 1),
        ("patience", patience, 1), ("iterations", iterations, 1),
        ("folds", folds, 2), ("max_members", max_members, 1)):
      if value is not None or name not in ("folds", "max_members"):
        words.check_count(name, value, least)
    words.check_limits(max_seconds, verbose)
    forks.check_process()
    making.check_scope("fit runs in", tf_compat.v2.distribute.get_strategy())
    executor = workers.check_executor(executor)
    making.check_callbacks(callbacks)
    stop = engine.Stop(max_seconds)
    if self._path is None:
      self._path = tempfile.mkdtemp()
      log.warning("directory=None: the search goes to %s.", self._path)
    directory = files.Directory(self._path)
    before = directory.read()
    if self._seed is None:
      self._seed = (random.SystemRandom().randrange(2**31) if before is None
                    else before["seed"])
    data, given = data_lib.checked(
        x, y, batch_size, validation_data, validation_split, sample_weight,
        class_weight, folds, self._seed)
    with directory.locked():
      tasks = [[network_lib.NetworkTask(
          files.Key(iteration, fold, name, len(data)), function, self._given,
          self._seed, callbacks, epochs, patience)
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
        # Digests of models need models that are built: these follow.
        self._check_given(before, {**{
            name: text for name, text in before["given"].items()
            if name.startswith("models[")}, **given})
      sent = None if executor is None else workers.send(
          directory, workers.SentSearch(
              self._models, self._given, callbacks, data[0].source,
              getattr(data[0].held_out, "source", None), self._seed, epochs,
              patience, making.settings(), workers.specs_of(data[0].source)),
          executor)
      tried = trial.tried(sum(tasks, []), data, directory, self._given, digest,
                          signs=executor is not None)
      self._judged = tried.compiling
      self._write(directory, before, {**given, **tried.given}, tried,
                  digest.unknown, data)
      with show.shown(verbose) as display:
        display.began(self._path, data, len(self._models))
        trains = engine.SearchEngine(
            data, directory, stop, display.epoch, tried.made,
            reuse.EndedNetworks() if iterations * len(data) > 1 else None,
            sent, tried.signed)
        repeating: list[str] = []
        for iteration, some in enumerate(tasks):
          self._train([
              task._replace(copies=task.key.function in tried.copying)
              for task in some if task.key.function not in repeating
          ], directory, trains, executor, display)
          judge_lib.select(directory, tried.judge, max_members)
          if stop.is_set():
            break
          if iteration == 1:
            repeating = directory.repeating(*(
                [task.key for task in networks] for networks in tasks[:2]))
            for name in repeating:
              log.warning(
                  "models[%r] makes the same network in each iteration, so no "
                  "third one is trained. Leave out what fixes its seeds, such "
                  "as keras.utils.set_random_seed.", name)
        display.ended(self.history, stop.is_set())
    return self

  def _write(self, directory, before, given, tried, unknown, data):
    """Records the search, and warns of arguments that it cannot compare."""
    if before is not None:
      changed = self._check_given(before, given)
      if changed:
        log.warning("%s: networks that have ended stay as they are.",
                    "; ".join(changed))
      if unknown:
        log.warning("The search goes on, and these could not be compared with "
                    "what it had: %s.", ", ".join(unknown))
    directory.write({
        "seed": self._seed, "given": given, "models": list(self._models),
        "arguments": making.saved(self._given),
        "judge": making.saved(tried.compiling), "outputs": tried.names,
        "x": data[0].layout().structure[0],
        "specs": ensemble_model.write_sample(directory, data)})

  def _train(self, tasks, directory, trains, executor, display):
    """Trains the networks that have not ended."""
    left = [task for task in tasks
            if directory.folder(task.key).record() is None]
    if any(task.callbacks is not None and directory.folder(
        task.key).running() for task in left):
      log.warning("Networks go on, and their callbacks begin anew.")
    try:
      for key, record in trains.train(left, executor):
        display.network(key, record)
    except KeyboardInterrupt:
      display.line("Stopped. What was trained is saved: call fit again to go "
                   "on.")
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
    directory, content, layout, samples = self._found()
    result = []
    for member in self.history.members:
      if not member.weight:
        continue
      networks = [ensemble_model.EnsembleMember(
          one.name, 1 / len(member.networks), self._made(
              one.name, directory, content, samples))
                  for one in member.networks]
      result.append(ensemble_model.EnsembleMember(
          member.name, member.weight, networks[0].model if len(
              networks) == 1 else ensemble_model.ensemble(
                  networks, layout, self._judged, content["outputs"],
                  samples[0])))
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
    directory, content, _, samples = self._found()
    known = [one.name for member in self.history.members
             for one in member.networks]
    if name not in known:
      raise ValueError(f"name={name!r}: expected that of a network that has "
                       f"ended: {', '.join(map(repr, known))}.")
    return self._made(name, directory, content, samples)

  def _made(self, name, directory, content, samples):
    """Returns a network, rebuilt by its function, with the trained weights."""
    key = next(key for key in directory.keys() if key.name == name)
    if key.function not in self._models:
      raise ValueError(f"models has no {key.function!r}, which the search "
                       "has: give the functions of before.")
    task = network_lib.NetworkTask(
        key, self._models[key.function], self._judged, content["seed"])
    return ensemble_model.member(
        task, samples[key.fold], directory.folder(key))

  @property
  def model(self) -> Any:
    """The ensemble, a `keras.Model` compiled with the loss and the metrics.

    The model maps `x` to predictions with the structure of `y`. Each read of
    this property builds a new model.

    Raises:
      ValueError: no ensemble exists yet, or a function in `models` now returns
        a different model.
    """
    _, content, layout, samples = self._found()
    return ensemble_model.ensemble(
        self.members, layout, self._judged, content["outputs"], samples[0])

  def _found(self):
    """Returns what models are made by.

    These are the directory, the content of search.json, the layout of x and a
    few rows of each fold.
    """
    forks.check_process()
    directory = files.Directory(self._found_path())
    content = directory.read()
    if directory.read(files.ENSEMBLE) is None:
      raise ValueError("No network has ended yet: call fit with the data of "
                       "before to go on.")
    if self._judged is None:
      self._judged = making.loaded(self._path, content["judge"], {
          "optimizer": self._given.optimizer})
    return directory, content, *ensemble_model.sample(directory, content)

  def _found_path(self):
    if self._path is None or files.Directory(self._path).read() is None:
      raise ValueError("Nothing was trained yet: call fit(x, y).")
    return self._path

  def _check_given(self, before, given):
    """Returns which limits differ from those of the search in the directory.

    Args:
      before: the content of search.json.
      given: dict from an argument to its text with a digest.

    Raises:
      ValueError: the search has other arguments.
    """
    differ = digests.differences(before["given"], given)
    limits = [one for one in differ if one.startswith(_LIMITS)]
    found = [one for one in differ if one not in limits]
    if before["seed"] != self._seed:
      found.insert(0, f"seed: {before['seed']} before, {self._seed} now")
    if found:
      raise ValueError(
          f"directory={self._path!r} has a search with something else: "
          f"{'; '.join(found)}. Give what it had, or another directory.")
    return limits
