# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks a search before the first step, so that a mistake costs no training.

Each function builds its model, whose steps are traced on the shapes of the
data, and the judge judges something. The networks that were built train first.
"""

from collections.abc import Callable, Iterable
from typing import Any
import weakref

from adanet import log
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import broadcasts
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import devices
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps as steps_lib
from adanet.ensemble_search import studies
from adanet.ensemble_search import workers
import numpy as np

keras = tf_compat.keras_3
_OF_PROBABILITIES = ("SparseCategoricalCrossentropy", "CategoricalCrossentropy",
                     "BinaryCrossentropy")
_LOOKUPS = keras.layers.StringLookup, keras.layers.TextVectorization
_OTHER_MODEL = (
    "{} makes another model each time: {}. Expected the same model, because "
    "search.model is built by the function, too. Draw constants from "
    "numpy.random or random, which are seeded for each call, or outside of the "
    "function.")


class Preflight:
  """Builds and checks networks before they train; see the module.

  Attributes:
    kept: `KeptNetworks`, with networks that were built for checks, and that
      train first.
    signed: dict from each maker to the key of a network, and the `Signature` of
      the model of this network; empty without an executor.
    copying: set with the makers whose networks need copies of layers; see
      `models.build_model`.
  """

  def __init__(self, splits: list, directory: files.Directory,
               store: candidates_lib.CandidateStore, functions: Iterable[str],
               arguments: models_lib.CompileArguments, combine: Any,
               has_executor: bool, is_repeated: bool):
    """Builds nothing yet.

    Args:
      splits: list with the split of each fold.
      directory, store, functions, arguments, combine: of the search.
      has_executor: bool, whether workers build models, too.
      is_repeated: bool, whether a function makes several networks.
    """
    self.kept = kept_networks.KeptNetworks()
    self.signed: dict[
        str, tuple[records.NetworkKey, workers.Signature]] = {}
    self.copying: set[str] = set()
    self._splits = splits
    self._directory = directory
    self._store = store
    self._functions = functions
    self._arguments = arguments
    self._combine = combine
    self._has_executor = has_executor
    self._is_repeated = is_repeated
    self._variables = _OuterVariables()
    self._first: Any = None  # The first network, and its predictions.
    self._compiled: Any = None  # See _compare_loss.
    self._output_names: list = []
    self._losses: list = [None]  # Those that were checked.
    self._makers: set[str] = set()  # Those that were checked.
    self._failed: set[str] = set()  # Makers of trials that do not fit.
    # What is wrong with x, in words and `Rows`; None before the first network.
    self._wrong_x: Any = None
    self._takes_x = False  # Whether the loss of a network is finite for x.

  def check(self, tasks: list[network_lib.NetworkTask]
           ) -> list[tuple[records.NetworkKey, records.NetworkRecord]]:
    """Builds a network of each function or trial, and checks the network.

    A trial that does not fit is recorded as failed. Returns those that were out
    of time before, with their records: they keep their best epoch.

    Raises:
      ValueError: the data, the model of a function, the loss or the metrics do
        not fit.
    """
    late = []
    task_of_maker: dict[str, network_lib.NetworkTask] = {}
    for task in tasks:
      if task.key.maker not in self._makers:
        task_of_maker.setdefault(task.key.maker, task)
    for i, task in enumerate(task_of_maker.values()):
      try:
        network, predictions = self._check_maker(
            task, devices.least_loaded((), i))
      except Exception as error:
        # A function fails the same each time, and a trial by its own values.
        if not task.key.trial:
          raise
        if studies.is_pruned(error):  # Of a function that was repaired.
          candidate = self._store.get(task.key.member)
          candidate.is_pruned = True
          candidate.forget_values()
          self._store.write(candidate)
        else:
          folder = self._directory.folder(task.key)
          record = failures.record_failure(
              task, folder, error, before=folder.predicted_record())
          self._failed.add(task.key.maker)
          if not record.error:
            late.append((task.key, record))
      else:
        self._check_search(network, predictions)
        del network  # Which may be too large for two.
    self._check_x()
    return late

  def _check_x(self):
    """Warns of NaN in x, or raises an error if no model can take NaN."""
    wrong, self._wrong_x = self._wrong_x, []  # Once is enough.
    if not wrong:
      return
    texts = messages.list_names(text for text, _ in wrong)
    fill = ("Leave these rows out, or fill them, for example with "
            "numpy.nan_to_num.")
    if not self._takes_x and self._directory.read_ensemble() is None:
      raise ValueError(
          f"{texts}, and the loss of {self._first[0].task.owner} is not finite"
          + (
              ", as that of all other models" if len(self._makers) > 1 else "")
          + f": expected finite numbers. {fill}")
    log.warning("%s: a network whose weights become NaN will fail. %s", texts,
                fill)

  def _check_maker(self, task, device):
    """Builds a network, and checks everything about its function."""
    split = self._splits[task.key.fold]
    network, batch, predictions, again = self._build(task, split, device)
    outer = _outer_variables(network.model, again)
    if _changed_by_call(again, outer, batch[0]):
      self.copying.add(task.key.maker)
      task = task._replace(copies=True)
      network, batch, predictions, again = self._build(task, split, device)
    model, owner = network.model, task.owner
    _check_sizes(owner, model, self._splits)
    _check_vocabularies(owner, model)
    self._variables.check(
        owner, model, again, batch[0], self._is_repeated)
    _check_floats(owner, predictions)
    self._check_losses(owner, model, batch, predictions)
    if self._has_executor:
      self.signed[task.key.maker] = task.key, workers.common_signature(
          workers.sign(model, batch), workers.sign(again, batch))
    if network.config is None:  # Otherwise the config tells all.
      again = models_lib.copy_outer_model(owner, again, model)
      _check_again(network, again, batch[0], predictions.outputs)
    if self._first is not None:
      _check_same(self._first[0].task.owner, self._first[1], owner, predictions)
    else:
      self._check_ended(owner, predictions)
    return network, predictions

  def _check_search(self, network, predictions):
    """Checks the data and the arguments by a network; all others fail alike."""
    task, model = network.task, network.model
    owner, split = task.owner, self._splits[task.key.fold]
    self._makers.add(task.key.maker)
    self._output_names.append(getattr(model, "output_names", None))
    if task.monitor.name != "val_loss" and task.callbacks is None:
      _check_monitor(network, split, task.monitor.name)
    if self._first is None:
      self._first = network, predictions
      self._wrong_x = _check_values(network, split)
      if not self._wrong_x:  # Or x, not y, may make the loss NaN.
        _check_labels(network, split)
      _check_range(owner, predictions.outputs, self._arguments.loss)
      if self._combine is not None:
        combining.check_outputs(self._combine, owner, predictions)
    if self._wrong_x and not self._takes_x:
      self._takes_x = all(_has_finite_loss(network, rows)
                          for _, rows in self._wrong_x)
    if self._arguments.loss is None:
      self._compiled = _compare_loss(self._compiled, owner, model)
    # Any other network with callbacks is traced after their on_train_begin.
    if (task.callbacks is None or network.config is not None) and (
        not self._has_executor):
      self.kept.add_new(network)

  def _check_losses(self, owner, model, batch, predictions):
    """Checks the loss of the search, and that of a compiled model, once."""
    losses = [self._arguments.loss]
    # A step or a loss of the user's may not use what is compiled.
    if steps_lib.is_of_keras(model, "train_step") and (
        type(model).compute_loss is keras.Model.compute_loss):
      losses.append(model.loss)
    for loss in losses:
      if len(batch) > 1 and not any(loss is known for known in self._losses):
        broadcasts.check_loss(owner, loss, batch[1], predictions,
                              getattr(model, "output_names", None))
        self._losses.append(loss)

  def _build(self, task, split, device):
    """Returns a network, some rows, and a second model of its function.

    Returns the predictions of the network for the rows, too.
    """
    network = network_lib.Network(task, split, device)
    network.trace()
    batch, predictions = network.sample()
    with task.seeded():
      again = task.build_model()
      # A copy has another config.
      if not task.copies:
        candidate = self._store.get(task.key.member)
        if self._directory.folder(task.key).predicted_record() is None:
          candidate.architecture = identity.describe_model(again)
          self._store.write(candidate)
      if network.config is None:
        ensemble_model.prepare(again, batch[0])
      elif identity.config_of_keras(again) != network.config:
        raise ValueError(_OTHER_MODEL.format(task.owner, "its config differs"))
    return network, batch, predictions, again

  def _check_ended(self, owner, predictions):
    """Compares the outputs with those of a network that has ended."""
    for candidate in self._store:
      for key in candidate.keys():
        folder = self._directory.folder(key)
        if key.function in self._functions and folder.predicted_record():
          _check_same(key.owner, folder.predictions(), owner, predictions)
          return

  def make_judge(self, find_ended: Callable[[], Any]) -> judge_lib.Judge | None:
    """Returns the judge of the checked models, which judges all held-out rows.

    Where no model was checked, `find_ended` returns the task of a network that
    has ended, or None if there is nothing to judge.

    Raises:
      ValueError: the loss or the metrics do not fit.
    """
    if self._first is None:
      task = find_ended()
      if task is None:
        return None
      self._check_search(*self._check_maker(task, devices.least_loaded(())))
    return self._make_judge()

  def copied(self, tasks: list[network_lib.NetworkTask]
            ) -> list[network_lib.NetworkTask]:
    """Returns the tasks to train, which say where layers need copies."""
    return [task._replace(copies=task.key.maker in self.copying)
            for task in tasks if task.key.maker not in self._failed]

  def _make_judge(self):
    arguments, names = self._arguments, self._output_names
    if arguments.loss is None:
      arguments = models_lib.CompileArguments(
          arguments.optimizer, *self._compiled[2:])
    # Losses by the name of an output need the names.
    has_names = all(own == names[0] for own in names) or any(
        isinstance(value, dict) for value in arguments[1:])
    network, predictions = self._first
    monitor = network.task.monitor
    try:
      judge = judge_lib.Judge(
          arguments, [split.held_out.labels() for split in self._splits],
          predictions,
          names[0] if has_names else None, monitor, self._combine)
      for fold, split in enumerate(self._splits):
        outputs, masks = (
            [array if array is None else np.resize(
                array, [len(split.held_out), *array.shape[1:]])
             for array in arrays_of_outputs]
            for arrays_of_outputs in predictions[1:])
        values = judge.values(outputs, masks, fold)
    except Exception as error:
      # A train_step of the user may need no labels, as that of an autoencoder.
      has_labels = len(network.layouts[0].structure) > 1
      problem = "loss or metrics cannot judge" if has_labels else (
          "y=None, and loss and metrics need labels, such as x, to judge")
      raise ValueError(f"{problem} the outputs of {network.task.owner}: "
                       f"{messages.one_line(error)}") from error
    if "val_loss" not in values:
      raise ValueError(
          f"loss={messages.describe(arguments.loss)} gives no value.")
    if monitor.name not in values:
      raise ValueError(
          f"monitor={monitor.name!r}: expected val_loss or a metric of the "
          f"search: {', '.join(map(repr, values))}.")
    return judge


def _check_sizes(owner, model, splits):
  """Raises an error if a model of fixed batches does not fit each fold."""
  size = models_lib.fixed_size(model)
  if size is not None and len(splits) > 1 and any(
      split.layout().size is None or split.held_out.layout(size).size is None
      for split in splits):
    raise ValueError(
        f"folds={len(splits)}: {owner} takes batches of {size} rows: expected "
        "folds whose rows, and the rows outside of them, divide by it.")


def _check_vocabularies(owner, model):
  """Raises an error about a lookup table that a file of the model changes.

  Keras writes an adapted vocabulary as lines, and leaves out empty ones at the
  end.
  """
  for layer in models_lib.list_layers(model):
    if not isinstance(layer, _LOOKUPS) or layer.get_config()["vocabulary"]:
      continue
    vocabulary = layer.get_vocabulary()
    try:
      is_same = models_lib.copy_layer(layer).get_vocabulary() == vocabulary
    except ValueError:
      is_same = False
    if not is_same:
      raise ValueError(
          f"{owner} has the layer {layer.name!r}, whose vocabulary would be "
          "another one in a file of search.model: Keras loses adapted text "
          "that is empty or has line breaks. Replace this text in the data, or "
          "give the layer its vocabulary=... in place of adapt.")


class _OuterVariables:
  """Variables of layers that were made outside of the functions."""

  def __init__(self):
    # By the id of a variable: a reference to it, the function that has it, and
    # whether this function's networks change it while they train.
    self._known = {}

  def check(self, owner: str, model: Any, again: Any, x: Any,
            is_repeated: bool) -> None:
    """Raises an error if networks would change a variable of each other.

    An error is also a variable that trains and that the function did not make:
    training would change the program's own layer.

    `model` and `again` are the models of two calls of the function `owner`, of
    which several networks train if `is_repeated`.
    """
    outer = _outer_variables(model, again)
    trainable = set(map(id, again.trainable_variables))
    changed = trainable | {id(variable) for variable in (
        *again.metrics_variables, *_changed_by_call(again, outer, x))}
    for variable in outer:
      reference, other, is_changed = self._known.get(
          id(variable), (lambda: None, None, False))
      is_shared = reference() is variable
      if id(variable) in trainable:
        raise ValueError(
            f"{owner} would train the variable {variable.path}, which the "
            "function did not make: expected a layer that is made in the "
            "function, or trainable=False.")
      if is_shared and is_changed or id(variable) in changed and (
          is_shared or is_repeated):
        raise ValueError(
            f"{owner} has the variable {variable.path} of "
            f"{other if is_shared else 'another call'}, and networks change "
            "it while they train: expected a variable of its own. Make its "
            "layer in the function. A layer without get_config, or in a model "
            "of your own class, cannot be copied for each network.")
      self._known[id(variable)] = (
          weakref.ref(variable), owner, id(variable) in changed)


def _outer_variables(model, again):
  """Returns the variables that two models of a function have in common."""
  ids = {id(variable) for variable in (
      *model.variables, *model.metrics_variables)}
  return [variable for variable in (
      *again.variables, *again.metrics_variables) if id(variable) in ids]


def _changed_by_call(model, variables, x):
  """Returns which of some variables a call of a model changes in training."""
  before = list(map(keras.ops.convert_to_numpy, variables))
  if variables:
    model(x, training=True)
  changed = []
  for variable, value in zip(variables, before):
    if not np.array_equal(keras.ops.convert_to_numpy(variable), value):
      changed.append(variable)
      variable.assign(value)
  return changed


def _check_again(network, again, x, outputs):
  """Raises an error if a function does not build the same model again.

  So `search.model` is built. `outputs` are predictions for `x`.
  """
  task, model = network.task, network.model
  late = [variable.path for variable in model.weights[len(again.weights):]]
  if late:
    raise ValueError(
        f"{task.owner} has variables that its train_step alone makes, such as "
        f"{late[0]}: expected variables that a call makes, too, because a file "
        "has all. Build their layers in the function.")
  again.set_weights(model.get_weights())
  if not ensemble_model.predicts(again, x, outputs):
    raise ValueError(_OTHER_MODEL.format(
        task.owner, "with the same weights its predictions differ"))
  try:
    ensemble_model.ensemble(
        [ensemble_model.EnsembleMember(task.key.name, 1., again)],
        network.layouts[0], models_lib.CompileArguments(loss="mse"), None)
  except Exception as error:
    raise ValueError(f"{task.owner} cannot be a part of search.model: "
                     f"{messages.one_line(error)}") from error


def _compile_config(model):
  """Returns what a model is compiled with, but for its optimizer.

  A user's schedule of learning rates needs no config to train.
  """
  optimizers = [optimizer for optimizer in (
      model.optimizer, getattr(model.optimizer, "inner_optimizer", None))
                if isinstance(optimizer, keras.optimizers.Optimizer)]
  for optimizer in optimizers:
    optimizer.get_config = dict
  try:
    with identity.without_warnings():
      return model.get_compile_config()
  finally:
    for optimizer in optimizers:
      del optimizer.get_config


def _compare_loss(before, owner, model):
  """Returns the owner, a text, and the compile arguments of the first model.

  Raises an error if this model is compiled with another loss.
  """
  loss = model.loss
  config = _compile_config(model)
  weights = config.get("loss_weights")
  # A user's function has no options to compare: it must be the same object.
  text = identity.text_of([loss, weights], lambda value: str(id(value)))
  if before is not None and before[1] != text:
    raise ValueError(
        f"loss=None: {before[0]} is compiled with "
        f"{messages.describe(before[2])}, and {owner} with "
        f"{messages.describe(loss)} of other values, or with other "
        "loss_weights: give the loss that compares them. Each trains with its "
        "own.")
  return before or (
      owner, text, loss, _read_metrics(owner, config, "metrics"), weights,
      _read_metrics(owner, config, "weighted_metrics"))


def _read_metrics(owner, config, name):
  """Returns an argument of `Model.compile`, or None for what Keras cannot read.
  """
  try:
    return keras.saving.deserialize_keras_object(
        config.get(name), safe_mode=False)
  except Exception as error:  # Of the user.  # pylint: disable=broad-except
    log.warning("Ensembles are not evaluated by the compiled %s of %s: %s Give "
                "EnsembleSearch the loss and the metrics.", name, owner,
                messages.one_line(error))
    return None


def _check_floats(owner, predictions):
  """Raises an error if a model has an output that has no mean."""
  for array in predictions.outputs:
    if array.dtype.kind not in "fc":
      raise ValueError(
          f"{owner} returns an output of the type {array.dtype.name}: expected "
          "floats, because an ensemble is the mean of its members' outputs. "
          "Leave this output out, and compute it from those of search.model.")


def _check_same(owner, predictions, other_owner, others):
  """Raises an error if two models predict other structures or shapes."""
  if _shapes(predictions) != _shapes(others):
    raise ValueError(
        f"{other_owner} returns {_describe_outputs(others)}, and {owner} "
        f"{_describe_outputs(predictions)}: expected the same, because an "
        "ensemble is their mean.")
  if [mask is None for mask in predictions.masks] != [
      mask is None for mask in others.masks]:
    raise ValueError(
        f"The outputs of {other_owner} and {owner} are masked in only one of "
        "them: expected the same. Give sample_weight of each timestep, and "
        "remove the mask from the output.")


def _shapes(predictions):
  """Returns the shapes of the outputs of a model, in their structure."""
  outputs = iter(predictions.outputs)
  return keras.tree.map_structure(
      lambda _: str([None, *next(outputs).shape[1:]]), predictions.structure)


def _describe_outputs(predictions):
  """Returns the outputs of a model: "[None, 3]" for a single output."""
  return str(_shapes(predictions)).replace("'", "")


def _check_range(owner, outputs, loss):
  """Checks that outputs are probabilities, where a loss of Keras says so."""
  keras_loss = keras.losses.get(loss) if isinstance(loss, str) else loss
  name = getattr(keras_loss, "__name__", type(keras_loss).__name__)
  known = next((kind for kind in _OF_PROBABILITIES
                if kind.lower() == name.replace("_", "").lower()), None)
  if known is None or getattr(keras_loss, "get_config", dict)().get(
      "from_logits", False) or all(
          # NaN is another mistake.
          not (array < -1e-3).any() and not (array > 1.001).any()
          for array in outputs):
    return
  raise ValueError(
      f"{owner} returns numbers that are not probabilities, and the loss "
      f"{known} takes probabilities: end the model in a softmax or a sigmoid, "
      f"or give keras.losses.{known}(from_logits=True).")


def _check_monitor(network, split, monitor):
  """Raises an error if a network's own logs lack what is monitored."""
  batch = rows_lib.first_batch(split.held_out, network.check_size)
  rows = rows_lib.Rows(batch, np.arange(
      rows_lib.flat_arrays(batch)[0].shape[0], dtype=np.int32))
  names = ["val_" + name for name in network.logs_of(rows)]
  if monitor not in names:
    raise ValueError(
        f"monitor={monitor!r}: the logs of {network.task.owner} are "
        f"{', '.join(map(repr, names))}: expected a metric of the search and of "
        "each compiled model, by this name. Give for example metrics=["
        "keras.metrics.AUC(name=\"auc\")] for \"val_auc\".")


def _check_values(network, split):
  """Raises an error about NaN in y or weights, unless the loss takes NaN.

  Returns words and `Rows` about NaN in x, which another model may take.
  """
  trained = getattr(split, "trained", None)
  wrong = [] if trained is None else trained.not_finite
  if split.held_out_rows() is None:  # These are other arrays.
    wrong = [*wrong, *((argument, "held-out " + text, rows) for (
        argument, text, rows) in split.held_out.not_finite)]
  for argument, text, rows in wrong:
    if argument != "x" and not _has_finite_loss(network, rows):
      raise ValueError(
          f"{text}, and the loss of {network.task.owner} is not finite: "
          "expected finite numbers. Leave these rows out.")
  return [(text, rows) for argument, text, rows in wrong if argument == "x"]


def _has_finite_loss(network, rows):
  return np.isfinite(network.logs_of(rows).get("loss", np.nan))


def _check_labels(network, split):
  """Raises an error about the least or greatest label that trains.

  Those of held-out rows are judged before the first step anyway. The loss may
  refuse a class, or be NaN of it on a GPU.
  """
  trained = getattr(split, "trained", None)
  if trained is None:
    return
  (extremes, judged) = (
      arrays.extreme_labels((*rows.batch, None)[1], rows.numbers)
      if isinstance(rows, rows_lib.Rows) else []
      for rows in (trained, split.held_out))
  if not extremes or len(extremes) == len(judged) and all(
      least[0] >= other_least[0] and greatest[0] <= other_greatest[0]
      for (least, greatest), (other_least, other_greatest) in zip(
          extremes, judged)):
    return
  numbers = [number for pair in extremes for _, number in pair]
  # Other rows, too: a loss may look at a whole batch.
  rows = trained.select(np.append(
      numbers, trained.numbers[:rows_lib.CHECK_SIZE]).astype(np.int32))
  if not _has_finite_loss(network, rows):
    raise ValueError(
        f"y has labels from {min(least[0] for least, _ in extremes)} to "
        f"{max(greatest[0] for _, greatest in extremes)}, and the loss of "
        f"{network.task.owner} is not finite: expected labels that the loss "
        "takes, such as one for each output of the model, from 0 on.")
