# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks a search before the first step, so that a mistake costs no training.

Each function builds its model, whose steps are traced on the shapes of the
data, and the judge judges something. The networks that were built train first.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from adanet import log
from adanet import messages
from adanet import tf_compat
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
from adanet.ensemble_search import model_checks
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import signatures
from adanet.ensemble_search import steps as steps_lib
from adanet.ensemble_search import studies
from adanet.ensemble_search import tasks as tasks_lib
from adanet.ensemble_search import workers
import numpy as np

keras = tf_compat.keras_3


class Preflight:
  """Builds and checks networks before they train; see the module.

  Attributes:
    kept: `KeptNetworks`, with networks that were built for checks, and that
      train first.
    signatures: dict from each maker to the key of a network, and the
      `Signature` of the model of this network; empty without an executor.
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
    self.signatures: workers.SignatureOfMaker = {}
    self._splits = splits
    self._directory = directory
    self._store = store
    self._functions = functions
    self._arguments = arguments
    self._combine = combine
    self._has_executor = has_executor
    self._is_repeated = is_repeated
    self._outer_variables = model_checks.OuterVariables()
    self._checked_losses: list = [None]
    self._output_names: list = []
    self._compiled_loss: Any = None  # A `_CompiledLoss`.
    # The task of the first network, and its predictions. The network itself is
    # not kept: if it fails, another one may need its memory.
    self._first: Any = None
    self._has_labels = False
    # Makers whose models were checked, those whose networks need copies of
    # layers (see `models.build_model`), and trials that do not fit.
    self._checked: set[str] = set()
    self._copying: set[str] = set()
    self._failed: set[str] = set()

  def check(self, tasks: list[tasks_lib.NetworkTask]
           ) -> list[tuple[records.NetworkKey, records.NetworkRecord]]:
    """Builds a network of each function or trial, and checks the network.

    A trial that does not fit is recorded as failed. Returns those that were out
    of time before, with their records: they keep their best epoch.

    Raises:
      ValueError: the data, the model of a function, the loss or the metrics do
        not fit.
    """
    late = []
    task_of_maker: dict[str, tasks_lib.NetworkTask] = {}
    for task in tasks:
      if task.key.maker not in self._checked:
        task_of_maker.setdefault(task.key.maker, task)
    for i, task in enumerate(task_of_maker.values()):
      try:
        network, predictions = self._check_maker(
            task, devices.least_loaded((), i))
      except Exception as error:
        # A function fails the same each time, and a trial by its own values.
        if not task.key.trial:
          raise
        record = self._fail(task, error)
        if record is not None and not record.error:
          late.append((task.key, record))
      else:
        self._check_search(network, predictions)
        del network  # Which may be too large for two.
    return late

  def _fail(self, task, error):
    """Records that a trial failed or was pruned; returns a failed record."""
    if studies.is_pruned(error):  # Of a function that was repaired.
      candidate = self._store.get(task.key.member)
      candidate.is_pruned = True
      candidate.forget_values()
      self._store.write(candidate)
      return None
    folder = self._directory.folder(task.key)
    self._failed.add(task.key.maker)
    return failures.record_failure(
        task.key, folder, error, before=folder.predicted_record())

  def _check_maker(self, task, device):
    """Builds a network, and checks everything about its function.

    Returns the network, and predictions for a few rows.
    """
    example = self._build(task, device)
    if example.changed_by_call:
      self._copying.add(task.key.maker)
      example = self._build(task._replace(copies=True), device)
    network, predictions = example.network, example.predictions
    owner = task.owner
    self._outer_variables.check(owner, example, self._is_repeated)
    model_checks.check_floats(owner, predictions)
    self._check_losses(owner, network.model, example.batch, predictions)
    if self._has_executor:
      self.signatures[task.key.maker] = task.key, signatures.common_signature(
          signatures.sign(network.model, example.batch),
          signatures.sign(example.again, example.batch))
    if network.config is None:
      model_checks.check_rebuilt(example)
    if self._first is not None:
      first, outputs = self._first
      model_checks.check_same(first.owner, outputs, owner, predictions)
    else:
      self._check_ended(owner, predictions)
    return network, predictions

  def _build(self, task, device):
    """Returns the `ModelExample` of a task."""
    network = network_lib.Network(task, self._splits[task.key.fold], device)
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
        raise ValueError(model_checks.OTHER_MODEL.format(
            task.owner, "its config differs"))
    return model_checks.ModelExample(network, batch, predictions, again)

  def _check_losses(self, owner, model, batch, predictions):
    """Checks the loss of the search, and that of a compiled model, once."""
    losses = [self._arguments.loss]
    # A step or a loss of the user's may not use what is compiled.
    if steps_lib.is_of_keras(model, "train_step") and (
        type(model).compute_loss is keras.Model.compute_loss):
      losses.append(model.loss)
    for loss in losses:
      if len(batch) > 1 and not any(
          loss is checked for checked in self._checked_losses):
        broadcasts.check_loss(owner, loss, batch[1], predictions,
                              getattr(model, "output_names", None))
        self._checked_losses.append(loss)

  def _check_ended(self, owner, predictions):
    """Compares the outputs with those of a network that has ended."""
    for candidate in self._store:
      for key in candidate.keys():
        folder = self._directory.folder(key)
        if key.function in self._functions and folder.predicted_record():
          model_checks.check_same(
              key.owner, folder.predictions(), owner, predictions)
          return

  def _check_search(self, network, predictions):
    """Checks the data and the arguments by a network; all others fail alike."""
    task, model = network.task, network.model
    self._checked.add(task.key.maker)
    self._output_names.append(getattr(model, "output_names", None))
    if task.training.callbacks is None:  # These may add logs.
      model_checks.check_monitor(network)
    if self._first is None:
      self._first = task, predictions
      self._has_labels = len(network.layouts[0].structure) > 1
      wrong = model_checks.check_finite(network, self._splits[task.key.fold])
      if wrong:
        log.warning(
            "%s: a network whose weights become NaN will fail. Leave these rows "
            "out, or fill them, for example with numpy.nan_to_num.",
            messages.list_names(wrong))
      model_checks.check_range(
          task.owner, predictions.outputs, self._arguments.loss)
      if self._combine is not None:
        combining.check_outputs(self._combine, task.owner, predictions)
    if self._arguments.loss is None:
      self._compiled_loss = _compare_loss(
          self._compiled_loss, task.owner, model)
    # Any other network with callbacks is traced after their on_train_begin.
    if (task.training.callbacks is None or network.config is not None) and (
        not self._has_executor):
      self.kept.add_new(network)

  def tasks_to_train(self, tasks: list[tasks_lib.NetworkTask]
                    ) -> list[tasks_lib.NetworkTask]:
    """Returns the tasks that fit, which say where layers need copies."""
    return [task._replace(copies=task.key.maker in self._copying)
            for task in tasks if task.key.maker not in self._failed]

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
    arguments, names = self._arguments, self._output_names
    if arguments.loss is None:
      arguments = self._compiled_loss.arguments._replace(
          optimizer=arguments.optimizer)
    # Losses by the name of an output need the names.
    has_names = all(own == names[0] for own in names) or any(
        isinstance(value, dict) for value in arguments[1:])
    task, predictions = self._first
    monitor = task.training.monitor
    try:
      judge = judge_lib.Judge(
          arguments, [split.held_out.labels() for split in self._splits],
          predictions, names[0] if has_names else None, monitor, self._combine)
      for fold, split in enumerate(self._splits):
        count = len(split.held_out)
        values = judge.values(_resize(predictions.outputs, count),
                              _resize(predictions.masks, count), fold)
    except Exception as error:
      # A train_step of the user may need no labels, as that of an autoencoder.
      problem = "loss or metrics cannot judge" if self._has_labels else (
          "y=None, and loss and metrics need labels, such as x, to judge")
      raise ValueError(f"{problem} the outputs of {task.owner}: "
                       f"{messages.one_line(error)}") from error
    if "val_loss" not in values:
      raise ValueError(
          f"loss={messages.describe(arguments.loss)} gives no value.")
    if monitor.name not in values:
      raise ValueError(
          f"monitor={monitor.name!r}: expected val_loss or a metric of the "
          f"search: {', '.join(map(repr, values))}.")
    return judge


def _resize(arrays, count):
  """Returns arrays with the rows of the first rows, again and again."""
  return [None if array is None else np.resize(
      array, [count, *array.shape[1:]]) for array in arrays]


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


class _CompiledLoss(NamedTuple):
  """What the first model is compiled with.

  Attributes:
    owner: the function of the model, in messages.
    text: str, equal for losses and loss weights of equal values.
    arguments: `CompileArguments` without an optimizer.
  """
  owner: str
  text: str
  arguments: models_lib.CompileArguments


def _compare_loss(first, owner, model):
  """Returns the `_CompiledLoss` of the first model.

  Raises an error if this model is compiled with another loss.
  """
  config = _compile_config(model)
  weights = config.get("loss_weights")
  # A user's function has no options to compare: it must be the same object.
  text = identity.text_of([model.loss, weights], lambda value: str(id(value)))
  if first is None:
    return _CompiledLoss(owner, text, models_lib.CompileArguments(
        None, model.loss, _read_metrics(owner, config, "metrics"), weights,
        _read_metrics(owner, config, "weighted_metrics")))
  if text != first.text:
    raise ValueError(
        f"loss=None: {first.owner} is compiled with "
        f"{messages.describe(first.arguments.loss)}, and {owner} with "
        f"{messages.describe(model.loss)} of other values, or with other "
        "loss_weights: give the loss that compares them. Each trains with its "
        "own.")
  return first


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
