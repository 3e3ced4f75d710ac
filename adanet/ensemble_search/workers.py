# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the workers of an executor get, check and train.

A search is sent by two files in its directory: `functions.pickle` has what the
user's program has made, such as the functions of models with all that they
refer to, and `data.pickle` has the arrays. A process reads each file once.

A worker imports modules anew. What the program has changed in a module since,
such as a layer that was adapted, is missing there, and no pickle can tell. So
each worker compares the `Signature` of the model that it builds with the
program's.
"""

from collections.abc import Iterable
from concurrent import futures
import dataclasses
import functools
import gc
import io
import json
import mmap
import os
import pickle
import socket
from typing import Any, NamedTuple
import uuid
import zlib

from adanet import forks
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import models
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.tf_compat import runtime
import cloudpickle
import numpy as np

keras: Any = tf_compat.keras_3
_SETTINGS = ("floatx", "epsilon", "image_data_format", "dtype_policy")
_DATA, _FUNCTIONS = "data.pickle", "functions.pickle"
_MODULES = ("A worker imports modules anew, without what the program has "
            "changed in them")
_kept = kept_networks.KeptNetworks()  # Of this process.
# Pairs of what was sent and of a maker whose model this process has checked.
_checked: set[tuple[str, str]] = set()
# Kinds of processors differ by less.
_RELATIVE, _ABSOLUTE = 1e-3, 1e-5
_FREQUENCY = 1.618  # Of a wave that tells one order of numbers from another.


class SignedPart(NamedTuple):
  """A config, a variable, a table, a log or an output of a model.

  Attributes:
    problem: str, what a message says of parts that differ.
    exact: list of values that are equal in equal parts.
    numbers: list of values that are about equal; empty if `exact` tells all.
  """
  problem: str
  exact: list
  numbers: list[float]

  def equals(self, other: "SignedPart") -> bool:
    return self.exact == other.exact and np.allclose(
        self.numbers, other.numbers, _RELATIVE, _ABSOLUTE, equal_nan=True)


# A few numbers of a new model, whose variables follow from a seed: the configs
# of layers, model and optimizer, variables and lookup tables, and the logs and
# outputs for some held-out rows. Without parts that two new models of a
# function do not have in common.
Signature = dict[str, SignedPart]


def sign(model: Any, batch: tuple) -> Signature:
  """Returns the signature of a new model, which is built and stays as new.

  Args:
    model: `keras.Model`, compiled.
    batch: `(x, y, weights)` or the beginning, of held-out rows.
  """
  if not model.built:
    model(batch[0])
  layers = list(models.list_layers(model))
  parts = {f"config {i}": _sign_config(name, owner) for i, (
      name, owner) in enumerate([
          *((f"layer {layer.name!r}", layer) for layer in layers),
          ("model", model), ("optimizer", model.optimizer)])}
  parts["count"] = SignedPart(
      "it has another number of variables", [len(model.variables)], [])
  trainable = set(map(id, model.trainable_variables))
  values: list[tuple] = [(
      variable.path.split("/")[-2:][0], keras.ops.convert_to_numpy(variable),
      id(variable) in trainable) for variable in model.variables]
  values += [(layer.name, np.array(layer.get_vocabulary(), str))
             for layer in layers if hasattr(layer, "get_vocabulary")]
  for i, (name, *value) in enumerate(values):
    parts[f"value {i}"] = _sign_array(
        f"the layer {name!r} has other values", *value)
  for name, value in _results(model, batch).items():
    if not isinstance(value, dict):
      parts[f"result {name}"] = _sign_array(
          f"{name} of held-out rows has other values", np.asarray(value))
  return {name: part for name, part in parts.items() if part is not None}


def _results(model, batch):
  """Returns the logs and outputs for held-out rows; {} if a graph is needed."""
  results = {}
  weights = model.get_weights()  # A call in training may change any.
  try:
    with models.kept_states(model):
      for kind, call in (
          ("", lambda: keras.Model.predict_step(model, batch[:1])),
          (" in training", lambda: model(batch[0], training=True))):
        for i, output in enumerate(keras.tree.flatten(call())):
          results[f"output {i + 1}{kind}"] = output
    with models.kept_states(model):
      model.reset_metrics()
      results |= model.test_step(batch)
  except Exception:  # Some steps need a graph.  # pylint: disable=broad-except
    pass
  finally:
    model.set_weights(weights)
  return results


def _sign_config(name, owner):
  """Returns the `SignedPart` of a config, or None for an object without."""
  try:
    with identity.without_warnings():
      text = identity.config_text(json.loads(json.dumps(
          owner and {"class_name": type(owner).__name__,
                     "config": owner.get_config()},
          default=keras.saving.serialize_keras_object)))
  except Exception:  # Of a user's class.  # pylint: disable=broad-except
    return None
  return SignedPart(
      f"the {name} has another config", [zlib.crc32(text.encode())], [])


def _sign_array(problem, array, *exact):
  exact = [*exact, list(array.shape)]
  if array.dtype.kind not in "fV":  # bfloat16 is "V".
    return SignedPart(problem, [*exact, zlib.crc32(np.ascontiguousarray(
        array).tobytes())], [])
  values = array.astype(np.float64).reshape(-1)
  scale = 1 / max(1, values.size) ** .5
  return SignedPart(problem, exact, [
      float(values @ np.cos(_FREQUENCY * np.arange(values.size))) * scale,
      float(np.linalg.norm(values)) * scale])


def common_signature(signature: Signature, other: Signature) -> Signature:
  """Returns what two new models of a function under one seed have in common.

  A function may draw values that no seed fixes.
  """
  return {name: part for name, part in signature.items()
          if name in other and part.equals(other[name])}


def difference(expected: Signature, signature: Signature) -> str:
  """Returns in words what differs from the model of the program, or ""."""
  return next((part.problem for name, part in expected.items()
               if name in signature and not part.equals(signature[name])), "")


def settings() -> dict[str, Any]:
  """Returns settings of Keras that a thread or a process may not have."""
  values = {name: getattr(keras.config, name)() for name in _SETTINGS}
  return {**values, "dtype_policy": values["dtype_policy"].name}


def set_settings(values: dict[str, Any]) -> None:
  """Sets the `settings` of the user's program."""
  if values != settings():
    for name, value in values.items():
      getattr(keras.config, f"set_{name}")(value)


class SentSearch(NamedTuple):
  """What the program has made, and workers cannot make themselves.

  Attributes:
    functions: dict from a name to the function of a model.
    example: `NetworkTask`, for all that tasks have in common.
    source: the `BatchSource` of `x`, or None for arrays.
    held_out: the `BatchSource` of `validation_data` that is too large to keep,
      or None.
    settings: dict, `settings` of the program.
    specs: str, `specs_of` the source.
  """
  functions: dict[str, Any]
  example: network_lib.NetworkTask
  source: Any
  held_out: Any
  settings: dict[str, Any]
  specs: str

  def task(self, key: records.NetworkKey, worker_task: "WorkerTask"
          ) -> network_lib.NetworkTask:
    """Returns the task of a network of the same function and trial."""
    return self.example._replace(
        key=key, function=self.functions[key.function],
        hyperparameters=worker_task.hyperparameters, copies=worker_task.copies)

  def by_argument(self) -> dict[str, Any]:
    """Returns the user's objects by the names of the arguments."""
    return {
        **{f"models[{name!r}]": function
           for name, function in self.functions.items()},
        **self.example.arguments._asdict(),
        "callbacks": self.example.callbacks,
        "x": self.source, "validation_data": self.held_out}


class WorkerTask(NamedTuple):
  """What an executor sends for a network: some hundred bytes.

  Attributes:
    number: int, the place of the task: workers that see the same GPUs begin
      with different GPUs.
    key: `NetworkKey`.
    directory: str, the folder of the search.
    sent: str, see `SentFiles.name`.
    hyperparameters, copies: see `NetworkTask`.
    signed: the key of a network of the function or trial, and the `Signature`
      of the model that the program has built for the network.
  """
  number: int
  key: records.NetworkKey
  directory: str
  sent: str
  hyperparameters: dict[str, Any] | None
  copies: bool
  signed: tuple[records.NetworkKey, Signature]


def dumps(value: Any) -> bytes:
  """Returns what `pickle.loads` reads, also in a program without the user's."""
  file = io.BytesIO()
  _Pickler(file).dump(value)
  return file.getvalue()


class _Pickler(cloudpickle.Pickler):
  """Writes functions with what they refer to, as Dask and Ray send functions.

  A memmap stays in the user's own file, and an object of Keras travels with the
  user's classes and functions in the object.
  """

  def reducer_override(self, obj):
    if isinstance(obj, np.memmap):
      reduced = _reduce_memmap(obj)
      if reduced is not None:
        return reduced
    elif isinstance(obj, keras.Layer):
      weights = set(map(id, obj.weights))
      states = {i: keras.ops.convert_to_numpy(variable)
                for i, variable in enumerate(obj.variables)
                if id(variable) not in weights}
      return _load_layer, (*obj.__reduce__(), models.custom_objects(obj),
                           obj.trainable, states)
    return super().reducer_override(obj)


def _load_layer(load, arguments, objects, trainable, states):
  with keras.saving.custom_object_scope(objects):
    layer = load(*arguments)
  if not trainable:  # Keras keeps this of layers without layers alone.
    layer.trainable = False
  for i, value in states.items():  # Of random layers: Keras leaves these out.
    layer.variables[i].assign(value)
  return layer


def _reduce_memmap(array):
  """Returns how to map a file, or a part of it, again; None if it is no file.

  Changes of a copy-on-write map are in no file.
  """
  root = array
  while isinstance(root.base, np.ndarray):
    root = root.base
  if not array.size or not isinstance(root.base, mmap.mmap) or (
      array.mode == "c" or not array.filename or
      not os.path.exists(array.filename)):
    return None
  begin = array.__array_interface__["data"][0]
  spans = [(size - 1) * stride for size, stride in zip(
      array.shape, array.strides)]
  low = begin + sum(span for span in spans if span < 0)
  high = begin + sum(span for span in spans if span > 0) + array.itemsize
  start = root.offset + low - root.__array_interface__["data"][0]
  return _map_file, (array.filename, array.dtype, array.shape, array.strides,
                     start, high - low, begin - low)


def _map_file(filename, dtype, shape, strides, start, size, begin):
  mapped = np.memmap(filename, np.uint8, "r", start, size)
  return np.ndarray(shape, dtype, mapped, begin, strides).view(np.memmap)


@dataclasses.dataclass
class SentFiles:
  """The files of a search that the workers of an executor read.

  Attributes:
    directory: `Directory` of the search.
    name: str, another name for each call of `fit`.
    check: future of `check_worker`, by one of the workers.
    signed: dict from a maker to a key and a `Signature`, see `WorkerTask`.
    has_data: bool, whether `data.pickle` is written.
  """
  directory: files.Directory
  name: str
  check: futures.Future
  signed: dict[str, tuple[records.NetworkKey, Signature]]
  has_data: bool = False

  def send_data(self, splits: list) -> None:
    """Writes the arrays of each split, once for all iterations."""
    if not self.has_data:
      _write(self.directory, _DATA, [
          dataclasses.replace(split, source=None) for split in splits])
      self.has_data = True

  def worker_task(self, number: int, task: network_lib.NetworkTask
                 ) -> WorkerTask:
    return WorkerTask(
        number, task.key, str(self.directory.path), self.name,
        task.hyperparameters, task.copies, self.signed[task.key.maker])


def send(directory: files.Directory, search: SentSearch, executor: Any,
         signed: dict[str, tuple[records.NetworkKey, Signature]]) -> SentFiles:
  """Writes what workers cannot make, and has a worker read the file.

  `signed` may be empty until networks train; see `SentFiles`.

  Raises:
    TypeError: `x` or `validation_data` is a dataset; or `executor` returns
      something else than a future.
    ValueError: another argument cannot be sent.
    RuntimeError: `executor` is broken.
  """
  for source in (search.source, search.held_out):
    if source is not None and isinstance(
        source.dataset, tf_compat.v2.data.Dataset):
      raise TypeError(f"{source.name} is a tf.data.Dataset, which an executor "
                      "cannot send: give a function that makes the dataset.")
  try:
    _write(directory, _FUNCTIONS, search)
  except Exception as error:
    for name, value in search.by_argument().items():
      try:
        _Pickler(io.BytesIO()).dump(value)
      except Exception as cause:
        raise ValueError(
            f"{name} cannot be sent to a worker of executor: "
            f"{messages.one_line(cause)} Make in the function what the "
            "function refers to, such as locks, open files and datasets."
        ) from cause
    raise ValueError("The search cannot be sent to a worker of executor: "
                     f"{messages.one_line(error)}") from error
  name = uuid.uuid4().hex
  try:
    check = submit(executor, check_worker, str(directory.path), name)
  except futures.BrokenExecutor as error:
    raise died(error) from error
  return SentFiles(directory, name, check, signed)


def _write(directory, name, value):
  with files.atomic_write(directory.path / name) as temporary:
    with open(temporary, "wb") as file:
      _Pickler(file).dump(value)


@functools.lru_cache(maxsize=1)
def _read_functions(directory, sent):
  """Returns the `SentSearch` of a directory."""
  del sent  # Another name for each call of fit.
  path = os.path.join(directory, _FUNCTIONS)
  try:
    with open(path, "rb") as file:
      return pickle.load(file)
  except FileNotFoundError as error:
    raise ValueError(
        f"directory={directory!r} is not seen by process {os.getpid()} on "
        f"{socket.gethostname()}, a worker of executor: expected a folder that "
        "all workers see.") from error
  except Exception as error:
    raise ValueError(
        "A worker of executor cannot read the functions of the search: "
        f"{messages.one_line(error)} Install what is missing on the workers, "
        "call cloudpickle.register_pickle_by_value with your own module, or "
        "make layers in the functions."
    ) from error


@functools.lru_cache(maxsize=1)
def _read_data(directory, sent):
  """Returns the splits of a search, whose tensors this process has once."""
  search = _read_functions(directory, sent)
  with open(os.path.join(directory, _DATA), "rb") as file:
    splits = pickle.load(file)
  for split in splits:
    split.source = search.source
    if search.held_out is not None:
      split.held_out.source = search.held_out
  return splits


def specs_of(source: Any) -> str:
  """Returns a text that tells the batches of a `BatchSource`; "" for None."""
  return "" if source is None else ", ".join(
      f"{spec.dtype.name} {spec.shape}" for spec in source.layout.specs)


def submit(executor: Any, function: Any, *arguments: Any) -> futures.Future:
  """Returns the future of a call by a worker.

  Raises:
    TypeError: `executor` returns something else than a future.
  """
  future = executor.submit(function, *arguments)
  if not isinstance(future, futures.Future):
    raise TypeError(
        f"executor={messages.describe(executor)} returned "
        f"{messages.describe(future)} from submit: expected a "
        "concurrent.futures.Future, as the executors of concurrent.futures, "
        "loky, Dask and mpi4py return.")
  return future


def check_worker(directory: str, sent: str) -> None:
  """Raises an error in a worker that cannot train; see `train_network`."""
  forks.check_process()
  runtime.grow_gpu_memory()
  search = _read_functions(directory, sent)
  set_settings(search.settings)
  specs = specs_of(search.source)
  if specs != search.specs:
    raise ValueError(
        f"x makes other batches in a worker than in the program: {specs}, and "
        f"{search.specs} in the program. {_MODULES}: give the function what it "
        "needs.")


def train_network(worker_task: WorkerTask) -> records.NetworkRecord | None:
  """Trains a network in a worker of an executor.

  Returns:
    The record, also of a network that failed; None if the search was stopped,
    or if another fold of the member has failed.

  Raises:
    RuntimeError: TensorFlow would hang in this process.
    ValueError: the worker builds another model than the program.
    Exception: an error that all networks would have.
  """
  path, sent = worker_task.directory, worker_task.sent
  check_worker(path, sent)
  search = _read_functions(path, sent)
  task = search.task(worker_task.key, worker_task)
  directory = files.Directory(path)
  folder = directory.folder(task.key)
  record = folder.finished_record()
  if record is not None or directory.is_stopping():
    return record
  if _has_failed_fold(directory, task.key):
    return None
  before = folder.predicted_record()
  if folder.read_record() is None:  # The program sees that the network began.
    folder.write_record(records.NetworkRecord())
  splits = _read_data(path, sent)
  key = (path, sent, task.key.maker)
  split = splits[task.key.fold]
  if split.source is not None:
    split = dataclasses.replace(split, source=split.source.begin_anew())
  network, problem = None, ""
  try:
    problem = _find_difference(worker_task, search, splits)
    if not problem:
      with devices.worker_device(worker_task.number) as device:
        network = _kept.build(key, task, split, device)
        network.begin(folder)
        record = network.train(directory.is_stopping)
        if record is None and directory.is_out_of_time():
          return network.finish_early()
  except Exception as error:  # pylint: disable=broad-except
    record = failures.record_failure(task, folder, error, network, before)
    network = None
  if problem:
    raise ValueError(
        f"{task.owner} makes another model in a worker than in the program: "
        f"{problem}. {_MODULES}: make, adapt or load in the function, or in "
        "its module, what the model needs.")
  if network is None:
    gc.collect()  # A model has cycles, and the next network needs its memory.
  # Another iteration may never come.
  elif record is not None and (task.key.folds > 1 or task.key.iteration):
    _kept.add_ended(key, network)
  return record


def _has_failed_fold(directory, key):
  """Returns whether another network of the same member has failed."""
  records = [directory.folder(key._replace(fold=fold)).read_record()
             for fold in range(key.folds) if fold != key.fold]
  return any(record is not None and record.error for record in records)


def _find_difference(worker_task, search, splits):
  """Returns how the model differs from the program's, once a function."""
  key, expected = worker_task.signed
  if (worker_task.sent, key.maker) in _checked:
    return ""
  task = search.task(key, worker_task)
  with task.seeded():
    model = task.build_model()
    signature = sign(model, rows_lib.first_batch(
        splits[key.fold].held_out,
        models.fixed_size(model) or rows_lib.CHECK_SIZE))
  problem = difference(expected, signature)
  if not problem:
    _checked.add((worker_task.sent, key.maker))
  return problem


def died(error: Exception, names: Iterable[str] = ()) -> RuntimeError:
  """Returns the error about a worker that died, and ended the executor.

  `names` has the networks that the workers trained.
  """
  trained = messages.list_names(names)
  when = f" while it trained {trained}" * bool(trained)
  broken = (" A pool whose worker died is broken for good."
            if isinstance(error, futures.BrokenExecutor) else "")
  return RuntimeError(
      f"A worker of executor died{when}: {messages.one_line(error)}{broken} All "
      "training so far is in the directory: call fit again with another "
      "executor to resume. A program whose pool spawns processes needs "
      "if __name__ == \"__main__\".")
