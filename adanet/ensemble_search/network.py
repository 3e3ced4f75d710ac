# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network: one model that trains, by its own steps, until it gets no better.

What happens is what `Model.fit` does on the same batches, with
`validation_data`, `validation_batch_size=256` and the callback
`EarlyStopping(patience=..., restore_best_weights=True)`.
"""

from collections.abc import Callable, Iterator
import time
from typing import Any, NamedTuple

from adanet import tf_compat
from adanet.ensemble_search import callbacks
from adanet.ensemble_search import devices
from adanet.ensemble_search import digests
from adanet.ensemble_search import files
from adanet.ensemble_search import making
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps as steps_lib
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_SECS_BETWEEN_SAVES = 10.
# Ctrl-C is heard between calls.
_SECS_OF_A_CALL = .5
_FIRST_STEPS = 32

Logs = dict[str, float]
# Is called with the key of a network, and its record so far.
Report = Callable[[files.Key, files.NetworkRecord], None]


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
    settings: `KerasSettings` of the user's program.
  """
  key: files.Key
  function: Any
  compiling: making.Compiling
  seed: int
  callbacks: Any
  epochs: int
  patience: int
  settings: making.KerasSettings

  @property
  def owner(self) -> str:
    """How messages name the function."""
    return f"models[{self.key.function!r}]"


def _nothing(key, record):
  del key, record  # Unused.


def _never():
  return False


def layouts(data: Any, check_size: int
           ) -> tuple[steps_lib.Layout, steps_lib.Layout]:
  """Returns the `Layout` of batches that train, and of held-out ones."""
  return data.layout(), data.held_out.layout(check_size)


class Network:
  """A network that trains, on one device in whatever thread.

  Attributes:
    task: `NetworkTask`.
    device: str, the device of its variables, steps and data; None for
      TensorFlow's choice.
    model: `keras.Model`.
    architecture: str, a digest of the model before it was built.
    draws_seeds_alone: bool, whether nothing was drawn but seeds of Keras.
    check_size: int, the rows of a held-out batch.
    layouts: the `Layout` of batches that train, and of held-out ones.
    steps: `Steps`, the functions of the model.
    record: `files.NetworkRecord`, of the epochs so far.
    step: int, how many steps it took in the epoch that is not over.
  """

  def __init__(self, task: NetworkTask, data: Any, device: str | None = None):
    """Makes the model, and traces its functions; the data are not read yet.

    Call it in the thread that Keras's settings are of. The functions may run in
    any other.

    Args:
      task: what to train.
      data: `RowData` or `StreamData`.
      device: str, the name of a device; None for TensorFlow's choice.

    Raises:
      ValueError: the model cannot be made, or does not take the data.
    """
    self.task = task
    self.device = device
    self._data = data
    self._make()

  @devices.on_own_device
  def _make(self):
    task, data = self.task, self._data
    seed = task.key.seed(task.seed)
    with making.seeded(seed) as generators:
      self.model = making.made(task.owner, task.function, task.compiling)
      self.architecture = digests.Digest().of_model(self.model, task.function)
      self.check_size = fixed_size(self.model) or rows_lib.CHECK_SIZE
      self.layouts = layouts(data, self.check_size)
      self.steps = steps_lib.Steps(self.model, *self.layouts, seed)
      try:
        self.steps.trace()
      except Exception as error:
        owner = (task.owner if len(data.layout().structure) > 1 else
                 f"y=None, and {task.owner} needs labels")
        raise ValueError(f"{owner}: {words.one_line(error)}") from error
      self.draws_seeds_alone = generators.draw_seeds_alone()
    self._begin_record()
    # What a new model has beside its own variables.
    self._fresh = [(one, keras.ops.convert_to_numpy(one)) for one in (
        *getattr(self.model.optimizer, "variables", ()),
        *self.model.metrics_variables)]

  def _begin_record(self) -> None:
    self.record = files.NetworkRecord()
    self._best: Any = None
    self.step = 0  # Of the epoch that is not over.
    self._steps_of_call = _FIRST_STEPS
    self._logs: dict[str, Any] = {}  # Of the last call.
    self._callbacks = callbacks.none()

  @devices.on_own_device
  def begin_anew(self, task: NetworkTask, data: Any, values: list) -> None:
    """Becomes another network of the same function; see `reuse`.

    Args:
      task: what to train.
      data: of the same layout.
      values: list with arrays for all variables of the model.
    """
    self.task = task
    self._data = data
    self._begin_record()
    for variable, value in (
        *zip(self.model.variables, values), *self._fresh):
      variable.assign(value)

  @devices.on_own_device
  def begin(self, folder: files.Folder) -> None:
    """Goes on from the files of a folder, if it has any."""
    state = folder.state()
    if state is not None:
      self._resume(folder, *state)
    if self.record.ended:
      return
    self._callbacks = callbacks.of_network(
        self.task.callbacks, self.task.key.name, self.model, self.task.epochs)
    self.model.stop_training = False
    self._callbacks.on_train_begin()
    if self.step:
      self._callbacks.on_epoch_begin(len(self.record.epochs))

  def _resume(self, folder, record, step, states):
    self.record = record
    if record.epochs:
      self.model.load_weights(folder.path(files.BEST))
      self._best = self.model.get_weights()
    self.model.load_weights(folder.path(files.LAST))
    self.step = step
    for variable, value in zip(_states(self.model), states):
      variable.assign(np.asarray(value, variable.dtype))
    # This call of fit may have fewer epochs, or less patience.
    self._end_if_over()

  @devices.on_own_device
  def train(self, folder: files.Folder, report: Report = _nothing,
            is_stopped: Callable[[], bool] = _never
           ) -> files.NetworkRecord | None:
    """Trains until the end; returns the record, or None if it was stopped."""
    saved = time.monotonic()
    while not self.record.ended:
      for flat, rows in self._data.calls(len(self.record.epochs), self.step):
        if not self.take(flat, rows, is_stopped):
          self.save(folder)
          return None
      self.end_epoch()
      report(self.task.key, self.record)
      if self.record.ended:
        break
      stops = is_stopped()
      if stops or time.monotonic() - saved > _SECS_BETWEEN_SAVES:
        self.save(folder)
        saved = time.monotonic()
      if stops:
        return None
    return self.finish(folder)

  @devices.on_own_device
  def take(self, flat: list, rows: np.ndarray,
           is_stopped: Callable[[], bool] = _never) -> bool:
    """Takes a step for each batch; returns False if it was stopped before."""
    if not self.step:
      self.model.reset_metrics()
      self._callbacks.on_epoch_begin(len(self.record.epochs))
    done = 0
    while done < len(rows):
      if is_stopped():
        return False
      began = time.monotonic()
      some = rows[done:done + self._steps_of_call]
      logs = self._called(self.steps.train, flat, some)
      done += len(some)
      self.step += len(some)
      # The values are there when the call has ended.
      self._logs = keras.tree.map_structure(np.asarray, logs)
      secs = time.monotonic() - began
      self.record.seconds += secs
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

  @devices.on_own_device
  def end_epoch(self) -> None:
    """Checks the network on held-out rows, and keeps the values of its best."""
    began = time.monotonic()
    if not self.step:
      raise ValueError("x has no batches in an epoch: expected at least one.")
    trained = self.steps.logs("train_step", self._logs)
    self._callbacks.on_test_begin()
    checked = self.checked()
    self._callbacks.on_test_end(checked)
    logs = {**trained, **{
        "val_" + name: value for name, value in checked.items()}}
    if "val_loss" not in logs:
      raise ValueError(
          f"{self.task.owner}: its test_step returns {sorted(checked)}: "
          "expected a loss, by which it is checked.")
    self.step = 0
    record = self.record
    # Before EarlyStopping, as in a list of callbacks that ends in it.
    self._callbacks.on_epoch_end(len(record.epochs), logs)
    record.epochs.append(steps_lib.flat_logs(logs))
    value, best = logs["val_loss"], record.best_loss
    if best is None or value < best:
      record.best_epoch = len(record.epochs)
      self._best = self.model.get_weights()
    self._end_if_over()
    if not record.ended and self.model.stop_training:
      record.ended = files.CALLBACK
    record.seconds += time.monotonic() - began

  def _end_if_over(self):
    """Ends the network if it has had enough epochs."""
    record = self.record
    epochs = len(record.epochs)
    if epochs - record.best_epoch >= self.task.patience:
      record.ended = files.PATIENCE
    elif epochs >= self.task.epochs:
      record.ended = files.EPOCHS

  @devices.on_own_device
  def checked(self) -> Logs:
    """Returns the logs of a check on held-out rows."""
    self.model.reset_metrics()
    logs = {}
    for flat, rows in self._data.held_out.calls(self.check_size):
      for some in rows:
        logs = self._called(self.steps.check, flat, some)
    return self.steps.logs("test_step", logs)

  @devices.on_own_device
  def loss_of_training(self) -> float:
    """Returns the loss after the first steps: a trial, of a network to drop."""
    for flat, rows in self._data.calls(0):
      self.take(flat, rows[:_FIRST_STEPS])
      break
    return float(self._logs.get("loss", 0.))

  @devices.on_own_device
  def example(self) -> files.HeldOutPredictions:
    """Returns predictions of the right shapes; the values mean nothing."""
    rows = getattr(self._data.held_out, "rows", None)
    if rows is not None and not self.model.run_eagerly:
      outputs, masks = (
          self.steps.predict.get_concrete_function().structured_outputs)
      shapes = [one.shape[1:] for one in (*outputs, *masks) if one is not None]
      if all(shape.is_fully_defined() for shape in shapes):
        return files.HeldOutPredictions(self.steps.outputs, *(
            [None if one is None else np.zeros(
                [len(rows), *one.shape[1:]], _plain(one.dtype))
             for one in some] for some in (outputs, masks)))
    return self.predictions()

  @devices.on_own_device
  def sample(self) -> tuple[Any, list]:
    """Returns x of the first held-out batch, and the outputs for it.

    The model stays as it is, also if it counts or draws when it predicts.
    """
    states = self.model.non_trainable_variables
    before = list(map(keras.ops.convert_to_numpy, states))
    flat, rows = next(self._data.held_out.calls(self.check_size))
    outputs = list(map(np.asarray, self._called(
        self.steps.predict, flat, rows[0])[0]))
    for variable, value in zip(states, before):
      variable.assign(value)
    reset_states(self.model)
    return self._data.held_out.layout(self.check_size).packed(
        steps_lib.readable(one)(tf.constant(rows[0])) for one in flat
    )[0], outputs

  def predictions(self) -> files.HeldOutPredictions:
    """Returns the predictions of the held-out rows."""
    parts = []
    for flat, rows in self._data.held_out.calls(self.check_size):
      for some in rows:
        parts.append(self._called(self.steps.predict, flat, some))
    try:
      outputs, masks = (
          [None if some[0] is None else _joined(some) for some in zip(*lists)]
          for lists in zip(*parts))
    except ValueError as error:
      raise ValueError(
          f"{self.task.owner} returns outputs whose shapes differ from batch "
          "to batch: expected one shape, because an ensemble is their mean."
      ) from error
    return files.HeldOutPredictions(self.steps.outputs, outputs, masks)

  def _predict_seconds(self):
    """Returns about how long 1,000 rows take."""
    flat, rows = next(self._data.held_out.calls(self.check_size))
    batch = np.resize(rows[0], self.check_size)
    secs = []
    for _ in range(3):  # The least: others train meanwhile.
      began = time.perf_counter()
      self._called(self.steps.predict, flat, batch)
      secs.append(time.perf_counter() - began)
    return min(secs) * 1000 / len(batch)

  @devices.on_own_device
  def finish(self, folder: files.Folder) -> files.NetworkRecord:
    """Gives the network its best values, predicts, and writes its files."""
    model, record = self.model, self.record
    optimizer = model.optimizer
    if isinstance(optimizer, keras.optimizers.Optimizer):
      optimizer.finalize_variable_values(model.trainable_variables)
    self._callbacks.on_train_end(record.epochs[-1])
    model.set_weights(self._best)
    reset_states(model)  # Those of a model that begins to predict.
    record.parameters = model.count_params()
    folder.write_best(model)
    folder.write_predictions(self.predictions())
    record.predict_seconds = self._predict_seconds()
    folder.write_end(record)
    return record

  @devices.on_own_device
  def save(self, folder: files.Folder) -> None:
    """Writes what the network needs to go on to the last bit."""
    model = self.model
    if self._best is not None:
      now = model.get_weights()
      model.set_weights(self._best)
      folder.write_best(model)
      model.set_weights(now)
    folder.write_last(model, self.record, self.step, [
        np.asarray(one).tolist() for one in _states(model)])


def _states(model):
  """Returns the variables that Keras's files of weights leave out.

  These are the states of random layers, the metrics of an epoch, and the
  matrices of LoRA, which the files have as a part of the kernel.
  """
  known = {id(one) for one in model.weights}
  return [one for one in (*model.variables, *model.metrics_variables)
          if id(one) not in known] + [
              one for layer in layers(model)
              if getattr(layer, "lora_enabled", False)
              for one in layer.weights]


def layers(model: Any) -> Iterator[Any]:
  """Yields all layers of a model."""
  for layer in getattr(model, "layers", ()):
    yield layer
    yield from layers(layer)


def reset_states(model: Any) -> None:
  """Resets the states of stateful layers."""
  for layer in layers(model):
    if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
      layer.reset_state()


def _plain(dtype):
  """Returns the type of predictions: NumPy's, and no low precision."""
  return (np.float32 if dtype in (tf.bfloat16, tf.float16) else
          dtype.as_numpy_dtype)


def _joined(tensors):
  """Returns an array of some tensors."""
  return np.concatenate([np.asarray(one).astype(_plain(one.dtype), copy=False)
                         for one in tensors])


def fixed_size(model: Any) -> int | None:
  """Returns the rows of each batch of a model that was made for so many."""
  try:
    inputs = keras.tree.flatten(model.inputs)
  except AttributeError:  # It is not built.
    return None
  sizes = {one.shape[0] for one in inputs if one is not None}
  return sizes.pop() if len(sizes) == 1 else None
