# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network: a model that trains by its own steps until it stops improving.

A network equals the result of `Model.fit` on the same batches, with
`validation_data`, `validation_batch_size=256` and the callback
`EarlyStopping(monitor, mode=..., patience=..., restore_best_weights=True)`.
"""

from collections.abc import Callable
import time
from typing import Any
import warnings

from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import models
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps as steps_lib
from adanet.ensemble_search import tasks
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
_SECS_BETWEEN_SAVES = 10.
# Ctrl-C is heard between calls.
_SECS_OF_A_CALL = .5
_FIRST_STEPS = 32

# A function of the key of a network and the training so far.
Report = Callable[[records.NetworkKey, records.NetworkRecord], None]


class _LastCallback(keras.callbacks.Callback):
  """Keeps the logs of an epoch, to which the user's callbacks may add."""

  def on_epoch_end(self, epoch, logs=None):
    self.logs = logs


class Network:
  """A network that trains on one device.

  Keras's settings belong to a thread: build, trace and start a network in the
  thread of the settings. Any thread may train the network.

  Attributes:
    task: `NetworkTask`.
    device: str, the device of variables, steps and data; None for TensorFlow's
      choice.
    model: `keras.Model`.
    config: str, see `identity.config_of_keras`.
    check_size: int, the rows of a held-out batch.
    layouts: the `Layout` of batches that train, and of held-out batches.
    steps: `Steps`, the functions of the model.
    record: `NetworkRecord` of the epochs so far.
  """

  def __init__(self, task: tasks.NetworkTask, split: Any,
               device: str | None = None):
    """Builds the model and traces the steps without reading data.

    Model.fit traces after `on_train_begin` and the first `on_epoch_begin`. So
    `start` traces again where callbacks have changed what is traced, and always
    with callbacks and a model that has more than a config and variables.
    `split` is an `ArraySplit` or a `DatasetSplit`.

    Raises:
      ValueError: the model cannot be built, or does not take the data.
    """
    self.device = device
    self._reset(task, split)
    with devices.scope(device):
      with task.seeded():
        self.model = task.build_model()
        self.config = identity.config_of_keras(self.model)
        self.check_size = models.fixed_size(self.model) or rows_lib.CHECK_SIZE
        self.layouts = split.layout(), split.held_out.layout(self.check_size)
        for layout in self.layouts:
          arrays.check_inputs(
              task.owner, self.model, layout.pack(layout.specs)[0])
        is_built = self.model.built
        if not is_built:  # The trace of the check draws the initial values.
          self._trace()
      if is_built:
        self._trace()
      if task.training.callbacks is None or self.config is not None:
        self.trace()
    # What a new model has beside its own variables.
    self._new_values = [
        (variable, keras.ops.convert_to_numpy(variable)) for variable in (
            *getattr(self.model.optimizer, "variables", ()),
            *self.model.metrics_variables)]

  def _trace(self):
    """Makes the steps, and traces what makes the variables of the model."""
    self.steps = steps_lib.Steps(self.model, *self.layouts, self.task.seed)
    self._is_traced = False
    self._name_errors(self.steps.build)

  def trace(self) -> None:
    """Traces the other steps, if they are not traced."""
    if not self._is_traced:
      with devices.scope(self.device):
        self._name_errors(self.steps.trace)
      self._is_traced = True
      if self.task.training.callbacks is not None and self.config is not None:
        self._traced = steps_lib.TracedParts(self.model)

  def _name_errors(self, function):
    try:
      function()
    except Exception as error:
      owner = self.task.owner if len(self.layouts[0].structure) > 1 else (
          f"y=None, and {self.task.owner} needs labels")
      raise ValueError(f"{owner}: {messages.one_line(error)}") from error

  def _trace_again(self):
    """Traces a model that callbacks may have changed."""
    if self.task.training.callbacks is None:
      return
    model = self.model
    if self.config is not None:
      if self._traced.are_of(model):
        return
      if model.optimizer is self._traced.optimizer and not steps_lib.are_same(
          model.trainable_variables, self._traced.trainable):
        # A new optimizer has the variables that train now.
        model.optimizer = keras.optimizers.get(
            keras.optimizers.serialize(model.optimizer))
    with devices.scope(self.device):
      self._trace()
      self.trace()

  def _reset(self, task, split):
    self.task = task
    self._split = split
    self.record = records.NetworkRecord()
    self._best = None
    self._steps_of_call = _FIRST_STEPS
    self._logs = {}  # Of the last call.
    self._callbacks = keras.callbacks.CallbackList()
    self._epoch = None  # The last one that has begun.

  @property
  def epoch_in_training(self) -> int:
    """The epoch that has begun and not ended, from 1; 0 without such an epoch.
    """
    return (0 if self._epoch != len(self.record.epochs) else
            len(self.record.epochs) + 1)

  def reuse(self, task: tasks.NetworkTask, split: Any) -> bool:
    """Uses the traced model for another network of the same function.

    Returns False, and changes nothing, if the function builds another model.
    `split` has the same layouts as the split before.
    """
    with devices.scope(self.device), task.seeded():
      model = task.build_model()
      if self.config != identity.config_of_keras(model):
        return False
      if not model.built:
        model(rows_lib.first_batch(split.held_out, self.check_size)[0])
      self._reset(task, split)
      for variable, value in (
          *zip(self.model.variables, model.variables), *self._new_values):
        variable.assign(value)
    return True

  @devices.on_own_device
  def start(self, folder: files.Folder) -> None:
    """Starts to train, or resumes from the files of a folder."""
    self._folder, self._saved = folder, time.monotonic()
    files.remove_unfinished(folder.path)
    model, training = self.model, self.task.training
    record = folder.read_record()
    # Others may be right, as the mask of attention that has infinity.
    self._is_finite = [not failures.find_not_finite(value)
                       for value in model.get_weights()]
    if record is not None and folder.has_state(record):
      self.record = record
      record.ended, record.late_error, record.failed_epoch = "", "", 0
      if training.callbacks is not None:  # They may look at the model.
        self._load_state()
    self._last_callback = _LastCallback()
    self._callbacks = keras.callbacks.CallbackList(
        [*models.build_callbacks(training.callbacks, self.task.key.name),
         self._last_callback], add_history=True, model=model, verbose=0,
        epochs=training.epochs, steps=self._split.steps())
    model.stop_training = False
    self._callbacks.on_train_begin()
    if self.record is record:
      self._trace_again()
      self._load_state()
      # This call of fit may have fewer epochs, or less patience.
      self._end_if_over()
      if not record.ended:
        self._start_epoch()
    else:
      self._start_epoch()
      self._trace_again()
    self._compiled = self._compiled_parts()

  def _start_epoch(self):
    """Starts the next epoch, unless the epoch has started."""
    if self._epoch != len(self.record.epochs):
      self._epoch = len(self.record.epochs)
      if not self.record.step:
        self.model.reset_metrics()
      self._callbacks.on_epoch_begin(self._epoch)

  def _compiled_parts(self):
    """Returns what another `compile` or `make_train_function` replaces."""
    return self.model.train_function, self.model.optimizer, self.model.loss

  def _load_state(self):
    """Gives the model the values that were saved last."""
    model, record = self.model, self.record
    with warnings.catch_warnings():
      # An optimizer has no variables before the trace.
      warnings.filterwarnings("ignore", message="Skipping variable loading")
      if record.epochs:
        self._folder.load(model, record.saved_file(files.BEST))
        self._best = model.get_weights()
      self._folder.load(model, record.saved_file(files.LAST))
    for variable, value in zip(models.unsaved_variables(model), record.states):
      variable.assign(np.asarray(value, variable.dtype))

  @devices.on_own_device
  def train(self, is_stopped: Callable[[], bool],
            report: Report = lambda *_: None) -> records.NetworkRecord | None:
    """Trains until the end; returns the record, or None after a stop."""
    while not self.record.ended:
      for flat, numbers in failures.reading(self._split.chunks(
          len(self.record.epochs), self.record.step)):
        if not self.take_steps(flat, numbers, is_stopped):
          self.save()
          return None
        if self.model.stop_training:
          break
      self.end_epoch()
      report(self.task.key, self.record)
      if not self.record.ended and is_stopped():
        self.save()
        return None
    return self.finish()

  @devices.on_own_device
  def take_steps(self, flat: list, numbers: np.ndarray,
                 is_stopped: Callable[[], bool]) -> bool:
    """Takes a step for each batch; returns False after a stop.

    As in Model.fit, the first step of an epoch is taken even if a callback has
    stopped training before.
    """
    record = self.record
    self._start_epoch()
    done = 0
    while done < len(numbers) and not (
        self.model.stop_training and record.step):
      if is_stopped():
        return False
      began = time.monotonic()
      batches = numbers[done:done + (
          1 if self.model.stop_training else self._steps_of_call)]
      # The values are there when the call has ended.
      self._logs = keras.tree.map_structure(
          np.asarray, self._call(self.steps.train, flat, batches))
      done += len(batches)
      record.step += len(batches)
      secs = time.monotonic() - began
      record.seconds += secs
      if len(batches) == self._steps_of_call and secs < _SECS_OF_A_CALL / 2:
        self._steps_of_call *= 2
      elif secs > 2 * _SECS_OF_A_CALL:
        self._steps_of_call = max(1, self._steps_of_call // 2)
    return True

  def _call(self, function, flat, numbers):
    """Calls a function of `Steps`; names the model in errors."""
    try:
      return function(flat, tf.constant(numbers))
    except Exception as error:
      raise ValueError(
          f"{self.task.owner}: {messages.one_line(error)}") from error

  @devices.on_own_device
  def end_epoch(self) -> None:
    """Checks the network on held-out rows; see `end_check`."""
    self.start_check()
    for flat, numbers in self._held_out_chunks():
      self.check(flat, numbers)
    self.end_check()

  def _held_out_chunks(self):
    return failures.reading(self._split.held_out.chunks(self.check_size))

  @devices.on_own_device
  def start_check(self) -> None:
    """Starts to check the network, after an epoch."""
    self._check_start = time.monotonic()
    if not self.record.step:
      raise ValueError("x has no batches in an epoch: expected at least one.")
    self._trained_logs = self.steps.logs("train_step", self._logs)
    self._callbacks.on_test_begin()
    self.model.reset_metrics()

  @devices.on_own_device
  def check(self, flat: list, numbers: np.ndarray) -> None:
    """Checks the network on batches of held-out rows."""
    for batch in numbers:
      self._logs = self._call(self.steps.check, flat, batch)

  @devices.on_own_device
  def end_check(self) -> None:
    """Ends the epoch, keeps the best values, and saves now and then."""
    record = self.record
    checked = self.steps.logs("test_step", self._logs)
    self._callbacks.on_test_end(checked)
    logs = {**self._trained_logs, **{
        "val_" + name: value for name, value in checked.items()}}
    record.step = 0
    # Before EarlyStopping, as in a list of callbacks that ends in it.
    self._callbacks.on_epoch_end(len(record.epochs), logs)
    if any(part is not before for part, before in zip(
        self._compiled_parts(), self._compiled)):
      raise ValueError(
          "callbacks: a callback compiled the model, or called "
          f"make_train_function, in epoch {len(record.epochs) + 1}: expected "
          "this in on_train_begin alone, because adanet traces a model once.")
    logs = records.logs_to_json(self._last_callback.logs)
    monitor = self.task.training.monitor
    for name in ("val_loss", monitor.name):
      if not isinstance(logs.get(name), float):
        raise ValueError(
            f"logs[{name!r}] of {self.task.owner} is {logs.get(name)} after "
            "test_step and on_epoch_end: expected the number by which a network"
            " is stopped.")
    record.epochs.append(logs)
    if not record.best_epoch or monitor.cost(logs) < monitor.cost(
        record.epochs[record.best_epoch - 1]):
      self._keep_epoch()
    self._end_if_over()
    if not record.ended and self.model.stop_training:
      record.ended = records.CALLBACK
    now = time.monotonic()
    record.seconds += now - self._check_start
    if not record.ended and now - self._saved > _SECS_BETWEEN_SAVES:
      self.save()

  def _keep_epoch(self):
    """Makes the last epoch the best one, if its weights are finite.

    A loss does not tell: a `relu` of NaN is 0 on a CPU. A network whose first
    epoch has weights that are not finite has failed, and nothing mends it.
    """
    record, weights = self.record, self.model.get_weights()
    for variable, value, is_checked in zip(
        self.model.weights, weights, self._is_finite):
      kind = failures.find_not_finite(value) if is_checked else ""
      if kind and record.best_epoch:
        return
      if kind:
        name = "/".join(variable.path.split("/")[-2:])
        raise failures.NotFiniteError(
            f"{kind} in {name} after epoch {len(record.epochs)}")
    record.best_epoch = len(record.epochs)
    self._best = weights

  def _end_if_over(self):
    epochs = len(self.record.epochs)
    if epochs - self.record.best_epoch >= self.task.training.patience:
      self.record.ended = records.PATIENCE
    elif epochs >= self.task.training.epochs:
      self.record.ended = records.EPOCHS

  @devices.on_own_device
  def sample(self) -> tuple[tuple, records.HeldOutPredictions]:
    """Returns the first held-out batch and the predictions for the batch."""
    flat, numbers = self._split.held_out.first_chunk(self.check_size)
    with models.kept_states(self.model):
      return rows_lib.first_batch(self._split.held_out, self.check_size), (
          self._predict([(flat, numbers[:1])]))

  def _predict(self, chunks):
    """Returns the `HeldOutPredictions` for chunks of held-out rows."""
    parts = [self._call(self.steps.predict, flat, batch)
             for flat, numbers in chunks for batch in numbers]
    try:
      return steps_lib.join_predictions(self.steps.outputs, parts)
    except ValueError as error:
      raise ValueError(
          f"{self.task.owner} returns outputs whose shapes differ from batch "
          "to batch: expected one shape, because an ensemble is their mean."
      ) from error

  def _predict_seconds(self):
    """Returns about how long 1,000 rows take."""
    flat, numbers = self._split.held_out.first_chunk(self.check_size)
    batch = np.resize(numbers[0], self.check_size)
    secs = []
    for _ in range(3):  # The least: other networks train meanwhile.
      began = time.perf_counter()
      self._call(self.steps.predict, flat, batch)
      secs.append(time.perf_counter() - began)
    return min(secs) * 1000 / len(batch)

  @devices.on_own_device
  def finish(self) -> records.NetworkRecord:
    """Gives the network the best values, predicts, and writes the files."""
    model = self.model
    if isinstance(model.optimizer, keras.optimizers.Optimizer):
      model.optimizer.finalize_variable_values(model.trainable_variables)
    self._callbacks.on_train_end(self.record.epochs[-1])
    return self._write_best()

  @devices.on_own_device
  def finish_early(self) -> records.NetworkRecord | None:
    """Writes the best epoch of a saved network that runs out of time.

    The saved files stay, and the next call of `fit` trains the network on.

    Returns:
      The record; None if no epoch has ended.
    """
    if not self.record.epochs:
      return None
    self.record.ended = records.TIME
    return self._write_best()

  def _write_best(self):
    model, record = self.model, self.record
    model.set_weights(self._best)
    models.reset_states(model)  # As those of a model that begins to predict.
    record.parameters = model.count_params()
    with models.kept_states(model):
      predictions = self._predict(self._held_out_chunks())
      record.predict_seconds = self._predict_seconds()
    # Infinity may be right, as the logit of a class that cannot be.
    if "NaN" in map(failures.find_not_finite, predictions.outputs):
      raise failures.NotFiniteError(
          "NaN in the predictions of held-out rows after epoch "
          f"{record.best_epoch}")
    self._folder.write_end(model, predictions, record)
    return record

  @devices.on_own_device
  def save(self) -> None:
    """Writes all values that a resume with the same bits needs."""
    self.record.states = [np.asarray(variable).tolist()
                          for variable in models.unsaved_variables(self.model)]
    self._folder.save(self.model, self._best, self.record)
    self._saved = time.monotonic()
