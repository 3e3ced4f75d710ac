# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network: one model that trains, by its own steps, until it gets no better.

What happens is what `Model.fit` does on the same batches, with
`validation_data`, `validation_batch_size=256` and the callback
`EarlyStopping(patience=..., restore_best_weights=True)`.
"""

from collections.abc import Callable, Iterator
import contextlib
import time
from typing import Any, NamedTuple
import warnings

from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import digests
from adanet.ensemble_search import files
from adanet.ensemble_search import making
from adanet.ensemble_search import models
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import words
from adanet.tf_compat import seeds
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_SECS_BETWEEN_SAVES = 10.
# Ctrl-C is heard between calls.
_SECS_OF_A_CALL = .5
_FIRST_STEPS = 32

# Is called with the key of a network, and its record so far.
Report = Callable[[files.Key, files.NetworkRecord], None]


class _LastCallback(keras.callbacks.Callback):
  """Keeps the logs of an epoch with what the user's callbacks have added.

  Attributes:
    logs: dict.
  """

  def on_epoch_end(self, epoch, logs=None):
    self.logs = logs


class NetworkTask(NamedTuple):
  """What to train.

  Attributes:
    key: names the network.
    function: makes its model.
    compiling: for a model that is not compiled.
    seed: int, that of the search.
    callbacks: function that returns a list of `keras.callbacks.Callback`, of
      the network's name or of nothing; or None.
    epochs: int, after how many a network ends at the latest.
    patience: int, after how many epochs that are no better it ends.
    copies: bool, see `making.build_model`.
  """
  key: files.Key
  function: Any
  compiling: making.Compiling
  seed: int
  callbacks: Any = None
  epochs: int = 1
  patience: int = 1
  copies: bool = False

  @property
  def owner(self) -> str:
    """How messages name the function."""
    return f"models[{self.key.function!r}]"

  def seeded(self) -> Any:
    """Returns the context in which the model is made and traced."""
    return seeds.seeded_thread(self.key.seed(self.seed))

  def build_model(self) -> Any:
    """Returns a new model, compiled."""
    return making.build_model(
        self.owner, self.function, self.compiling, self.copies)


class Network:
  """A network that trains, on one device in whatever thread.

  Attributes:
    task: `NetworkTask`.
    device: str, the device of its variables, steps and data; None for
      TensorFlow's choice.
    model: `keras.Model`.
    config: str, the model's config if the model is no more than its config and
      its variables; otherwise None.
    check_size: int, the rows of a held-out batch.
    layouts: the `Layout` of batches that train, and of held-out ones.
    steps: `Steps`, the functions of the model.
    record: `files.NetworkRecord`, of the epochs so far.
  """

  def __init__(self, task: NetworkTask, data: Any, device: str | None = None):
    """Builds the model, and traces its functions; the data are not read yet.

    With callbacks, the functions are traced by `begin`, as Model.fit does after
    `on_train_begin`.

    Call it in the thread that Keras's settings are of. The functions may run in
    any other. `data` are `RowData` or `StreamData`.

    Raises:
      ValueError: the model cannot be made, or does not take the data.
    """
    self.device = device
    self._begin_record(task, data)
    with devices.scope(device), task.seeded():
      self.model = task.build_model()
      self.config = digests.config_of_keras(self.model)
      self.check_size = models.fixed_size(self.model) or rows_lib.CHECK_SIZE
      self.layouts = data.layout(), data.held_out.layout(self.check_size)
      self._renew_steps()
      with self._named_errors():
        self.steps.build()
        if task.callbacks is None:
          self.steps.trace()
    # What a new model has beside its own variables.
    self._fresh = [(one, keras.ops.convert_to_numpy(one)) for one in (
        *getattr(self.model.optimizer, "variables", ()),
        *self.model.metrics_variables)]

  def trace(self) -> None:
    """Traces the model as the model is now, where callbacks may change it.

    Call it in the thread that Keras's settings are of.
    """
    if self.task.callbacks is not None:
      self._renew_steps()
      with devices.scope(self.device), self.task.seeded(), self._named_errors():
        self.steps.build()
        self.steps.trace()

  def _renew_steps(self):
    self.steps = rows_lib.Steps(
        self.model, *self.layouts, self.task.key.seed(self.task.seed))

  @contextlib.contextmanager
  def _named_errors(self):
    """Names the model in errors of a trace."""
    try:
      yield
    except Exception as error:
      owner = self.task.owner if len(self.layouts[0].structure) > 1 else (
          f"y=None, and {self.task.owner} needs labels")
      raise ValueError(f"{owner}: {words.one_line(error)}") from error

  def _begin_record(self, task: NetworkTask, data: Any) -> None:
    self.task = task
    self._data = data
    self.record = files.NetworkRecord()
    self._best: Any = None
    self._steps_of_call = _FIRST_STEPS
    self._logs: Any = {}  # Of the last call.
    self._callbacks: Any = keras.callbacks.CallbackList()

  @devices.on_own_device
  def begin_anew(self, task: NetworkTask, data: Any, values: list) -> None:
    """Becomes another network of the same function; see `reuse`.

    The data have the same layout; `values` are for all variables of the model.
    """
    self._begin_record(task, data)
    for variable, value in (
        *zip(self.model.variables, values), *self._fresh):
      variable.assign(value)

  @devices.on_own_device
  def begin(self, folder: files.Folder) -> None:
    """Goes on from the files of its folder, if that has any.

    Call it in the thread that Keras's settings are of.
    """
    self._folder, self._saved = folder, time.monotonic()
    files.remove_unfinished(folder.path)
    model, record = self.model, folder.running()
    if record is not None and folder.has_state(record):
      self.record = record
      if self.task.callbacks is not None:  # They may look at the model.
        self._load_state()
    self._last_callback = _LastCallback()
    self._callbacks = keras.callbacks.CallbackList(
        [*making.made_callbacks(self.task.callbacks, self.task.key.name),
         self._last_callback], model=model, verbose=0, epochs=self.task.epochs,
        steps=self._data.steps())
    model.stop_training = False
    self._callbacks.on_train_begin()
    self.trace()
    if self.record is record:
      self._load_state()
      # This call of fit may have fewer epochs, or less patience.
      self._end_if_over()
    if self.record.step and not self.record.ended:
      self._callbacks.on_epoch_begin(len(self.record.epochs))

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
    for variable, value in zip(models.states(model), record.states):
      variable.assign(np.asarray(value, variable.dtype))

  @devices.on_own_device
  def train(self, is_stopped: Callable[[], bool],
            report: Report = lambda *_: None) -> files.NetworkRecord | None:
    """Trains until the end; returns the record, or None if it was stopped."""
    while not self.record.ended:
      for flat, rows in self._data.calls(
          len(self.record.epochs), self.record.step):
        if not self.take(flat, rows, is_stopped):
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
  def take(self, flat: list, rows: np.ndarray, is_stopped: Callable[[], bool]
          ) -> bool:
    """Takes a step for each batch; returns False if it was stopped before.

    A callback that stops training before the first step of an epoch leaves that
    one step, as in Model.fit.
    """
    record = self.record
    if not record.step:
      self.model.reset_metrics()
      self._callbacks.on_epoch_begin(len(record.epochs))
    done = 0
    while done < len(rows) and not (self.model.stop_training and record.step):
      if is_stopped():
        return False
      began = time.monotonic()
      some = rows[done:done + (
          1 if self.model.stop_training else self._steps_of_call)]
      # The values are there when the call has ended.
      self._logs = keras.tree.map_structure(
          np.asarray, self._called(self.steps.train, flat, some))
      done += len(some)
      record.step += len(some)
      secs = time.monotonic() - began
      record.seconds += secs
      if len(some) == self._steps_of_call and secs < _SECS_OF_A_CALL / 2:
        self._steps_of_call *= 2
      elif secs > 2 * _SECS_OF_A_CALL:
        self._steps_of_call = max(1, self._steps_of_call // 2)
    return True

  def _called(self, function, flat, rows):
    """Returns what a function of `Steps` returns; names the model in errors."""
    try:
      return function(flat, tf.constant(rows))
    except Exception as error:
      raise ValueError(
          f"{self.task.owner}: {words.one_line(error)}") from error

  def end_epoch(self) -> None:
    """Checks the network on held-out rows; see `end_check`."""
    self.begin_check()
    for flat, rows in self._data.held_out.calls(self.check_size):
      self.check(flat, rows)
    self.end_check()

  @devices.on_own_device
  def begin_check(self) -> None:
    """Begins to check the network, after an epoch."""
    self._check_began = time.monotonic()
    if not self.record.step:
      raise ValueError("x has no batches in an epoch: expected at least one.")
    self._trained_logs = self.steps.logs("train_step", self._logs)
    self._callbacks.on_test_begin()
    self.model.reset_metrics()

  @devices.on_own_device
  def check(self, flat: list, rows: np.ndarray) -> None:
    """Checks the network on batches of held-out rows."""
    for numbers in rows:
      self._logs = self._called(self.steps.check, flat, numbers)

  @devices.on_own_device
  def end_check(self) -> None:
    """Ends the epoch, and keeps the values of the best one.

    Saves the network now and then.
    """
    record = self.record
    checked = self.steps.logs("test_step", self._logs)
    self._callbacks.on_test_end(checked)
    logs = {**self._trained_logs, **{
        "val_" + name: value for name, value in checked.items()}}
    if "val_loss" not in logs:
      raise ValueError(
          f"{self.task.owner}: its test_step returns {sorted(checked)}: "
          "expected a loss, by which it is checked.")
    record.step = 0
    # Before EarlyStopping, as in a list of callbacks that ends in it.
    self._callbacks.on_epoch_end(len(record.epochs), logs)
    logs = _to_json(self._last_callback.logs)
    if not isinstance(logs.get("val_loss"), float):
      raise ValueError(
          f"callbacks: logs[\"val_loss\"] is {logs.get('val_loss')} after "
          "on_epoch_end: expected the number by which a network is stopped.")
    record.epochs.append(logs)
    if record.best_loss is None or logs["val_loss"] < record.best_loss:
      record.best_epoch = len(record.epochs)
      self._best = self.model.get_weights()
    self._end_if_over()
    if not record.ended and self.model.stop_training:
      record.ended = files.CALLBACK
    now = time.monotonic()
    record.seconds += now - self._check_began
    if not record.ended and now - self._saved > _SECS_BETWEEN_SAVES:
      self.save()

  def _end_if_over(self):
    epochs = len(self.record.epochs)
    if epochs - self.record.best_epoch >= self.task.patience:
      self.record.ended = files.PATIENCE
    elif epochs >= self.task.epochs:
      self.record.ended = files.EPOCHS

  @devices.on_own_device
  def loss_of(self, rows: rows_lib.Rows) -> float:
    """Returns the loss of the first of some rows; the model stays as it is.

    Returns 0 if a test_step of the user is for other batches.
    """
    layout = rows.layout(self.check_size)._replace(size=self.check_size)
    if layout[:2] != self.layouts[1][:2] and not rows_lib.is_of_keras(
        self.model, "test_step"):
      return 0.
    steps = rows_lib.Steps(self.model, layout, layout, 0)
    self.model.reset_metrics()
    flat, numbers = next(rows.calls(self.check_size))
    with models.kept_states(self.model):
      logs = self._called(steps.check, flat, np.resize(
          numbers[0], self.check_size))
    return steps.logs("test_step", logs).get("loss", np.nan)

  @devices.on_own_device
  def sample(self) -> tuple[tuple, files.HeldOutPredictions]:
    """Returns the first held-out batch, and the predictions for it."""
    flat, rows = self._data.held_out.first_call(self.check_size)
    with models.kept_states(self.model):
      return rows_lib.first_batch(self._data.held_out, self.check_size), (
          self._predicted([(flat, rows[:1])]))

  @devices.on_own_device
  def predictions(self) -> files.HeldOutPredictions:
    """Returns the predictions of the held-out rows."""
    return self._predicted(self._data.held_out.calls(self.check_size))

  def _predicted(self, calls):
    parts = [self._called(self.steps.predict, flat, some)
             for flat, rows in calls for some in rows]
    try:
      return joined(self.steps.outputs, parts)
    except ValueError as error:
      raise ValueError(
          f"{self.task.owner} returns outputs whose shapes differ from batch "
          "to batch: expected one shape, because an ensemble is their mean."
      ) from error

  def _predict_seconds(self):
    """Returns about how long 1,000 rows take."""
    flat, rows = self._data.held_out.first_call(self.check_size)
    batch = np.resize(rows[0], self.check_size)
    secs = []
    for _ in range(3):  # The least: others train meanwhile.
      began = time.perf_counter()
      self._called(self.steps.predict, flat, batch)
      secs.append(time.perf_counter() - began)
    return min(secs) * 1000 / len(batch)

  @devices.on_own_device
  def finish(self) -> files.NetworkRecord:
    """Gives the network its best values, predicts, and writes its files."""
    model, record = self.model, self.record
    if isinstance(model.optimizer, keras.optimizers.Optimizer):
      model.optimizer.finalize_variable_values(model.trainable_variables)
    self._callbacks.on_train_end(record.epochs[-1])
    model.set_weights(self._best)
    models.reset_states(model)  # Those of a model that begins to predict.
    record.parameters = model.count_params()
    # Before predictions: some layers count these.
    self._folder.write_weights(model, files.BEST)
    predictions = self.predictions()
    record.predict_seconds = self._predict_seconds()
    self._folder.write_end(predictions, record)
    return record

  @devices.on_own_device
  def save(self) -> None:
    """Writes what the network needs to go on to the last bit."""
    self.record.states = [np.asarray(one).tolist() for one in models.states(
        self.model)]
    self._folder.save(self.model, self._best, self.record)
    self._saved = time.monotonic()


def _to_json(logs):
  """Returns logs as JSON has them: numbers as float, and arrays as lists."""
  numbers = {name: float(value) for name, value in logs.items()
             if np.ndim(value) == 0 and not isinstance(value, str)}
  return numbers | {name: np.asarray(value).tolist()
                    for name, value in logs.items() if name not in numbers}


def joined(structure: Any, parts: list[tuple[list, list]]
          ) -> files.HeldOutPredictions:
  """Returns the outputs and masks for parts of the rows as those of all."""
  return files.HeldOutPredictions(structure, *(
      [None if some[0] is None else np.concatenate(list(map(_plain, some)))
       for some in zip(*lists)] for lists in zip(*parts)))


def _plain(tensor):
  """Returns predictions as an array of NumPy's types, not of low precision."""
  array = np.asarray(tensor)
  return (array.astype("float32") if array.dtype.name in (
      "bfloat16", "float16") else array)
