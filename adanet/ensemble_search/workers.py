# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the workers of an executor get, and how a worker trains a network.

A search is sent by two files in its directory: `functions.pickle` has what the
user's program has made, such as the functions of models with all that they
refer to, and `data.pickle` has the arrays. A process reads each file once.
"""

from concurrent import futures
import dataclasses
import functools
import io
import mmap
import os
import pickle
import socket
from typing import Any, NamedTuple
import uuid

from adanet import forks
from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import files
from adanet.ensemble_search import making
from adanet.ensemble_search import models
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import reuse
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import signatures
from adanet.ensemble_search import words
from adanet.tf_compat import runtime
import cloudpickle
import numpy as np

keras = tf_compat.keras_3
_DATA, _FUNCTIONS = "data.pickle", "functions.pickle"
_ended = reuse.EndedNetworks()  # Of this process.
_checked: set[tuple[str, str]] = set()  # Searches and functions of this process.


class SentSearch(NamedTuple):
  """What the program has made, and workers cannot make themselves.

  Attributes:
    functions: dict from a name to the function of a model.
    compiling: for models that are not compiled.
    callbacks: as the user gave them.
    source: the `BatchSource` of `x`, or None for arrays.
    held_out: the `BatchSource` of `validation_data` that is too large to keep,
      or None.
    seed, epochs, patience: int, of all networks.
    settings: dict, `making.settings` of the program.
    specs: str, tells the batches of `x`; "" for arrays.
  """
  functions: dict[str, Any]
  compiling: making.Compiling
  callbacks: Any
  source: Any
  held_out: Any
  seed: int
  epochs: int
  patience: int
  settings: dict[str, Any]
  specs: str

  def task(self, key: files.Key, copies: bool) -> network_lib.NetworkTask:
    return network_lib.NetworkTask(
        key, self.functions[key.function], self.compiling, self.seed,
        self.callbacks, self.epochs, self.patience, copies)

  def arguments(self) -> dict[str, Any]:
    """Returns what a user gave, by the names of the arguments."""
    return {
        **{f"models[{name!r}]": function
           for name, function in self.functions.items()},
        **self.compiling._asdict(), "callbacks": self.callbacks,
        "x": self.source, "validation_data": self.held_out}


class WorkerTask(NamedTuple):
  """What an executor sends for a network: some hundred bytes.

  Attributes:
    number: int, which of the tasks this is: workers that see the same GPUs
      begin with different ones.
    key: names the network.
    directory: str, the folder of the search.
    sent: str, the name of the sent files: another one for each call of `fit`.
    copies: bool, see `making.build_model`.
    signed: the key of a network of the function, and the `Signature` of the
      model that the program has built for this network.
  """
  number: int
  key: files.Key
  directory: str
  sent: str
  copies: bool
  signed: tuple[files.Key, signatures.Signature]


class _Pickler(cloudpickle.Pickler):
  """Writes functions with what they refer to, as Dask and Ray send them.

  A memmap stays in the user's own file, and an object of Keras gets the user's
  classes that are in the object.
  """

  def reducer_override(self, obj):
    if isinstance(obj, np.memmap):
      reduced = _reduce_memmap(obj)
      if reduced is not None:
        return reduced
    elif isinstance(obj, keras.Layer):
      own = {type(layer).__name__: type(layer)
             for layer in (obj, *models.layers(obj))
             if not type(layer).__module__.startswith("keras.")}
      if own or not obj.trainable:
        return _load_layer, (*obj.__reduce__(), own, obj.trainable)
    return super().reducer_override(obj)


def _load_layer(load, arguments, classes, trainable):
  with keras.saving.custom_object_scope(classes):
    layer = load(*arguments)
  if not trainable:  # Keras keeps this of layers without layers alone.
    layer.trainable = False
  return layer


def _reduce_memmap(array):
  """Returns how to map a file, or a part of it, again; None if it is no file.

  Changes of a copy-on-write map are in no file.
  """
  root = array
  while isinstance(root.base, np.ndarray):
    root = root.base
  if not array.size or not isinstance(root.base, mmap.mmap) or array.mode == "c" or (
      not array.filename or not os.path.exists(array.filename)):
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


class Sent(NamedTuple):
  """What the workers of an executor can read.

  Attributes:
    name: str, another name for each call of `fit`.
    check: future of `check_worker`, of one of the workers.
  """
  name: str
  check: futures.Future


def send(directory: files.Directory, search: SentSearch, executor: Any) -> Sent:
  """Writes what workers cannot make, and has a worker read the file.

  Raises:
    TypeError: `x` or `validation_data` is a dataset; or `executor` returns
      something else than a future.
    ValueError: another argument cannot be sent.
  """
  for source in (search.source, search.held_out):
    if source is not None and isinstance(
        source.given, tf_compat.v2.data.Dataset):
      raise TypeError(f"{source.name} is a tf.data.Dataset, which an executor "
                      "cannot send: give a function that makes and returns it.")
  try:
    _write(directory, _FUNCTIONS, search)
  except Exception as error:
    for name, value in search.arguments().items():
      try:
        _Pickler(io.BytesIO()).dump(value)
      except Exception as cause:
        raise ValueError(
            f"{name} cannot be sent to a worker of executor: "
            f"{words.one_line(cause)} Make in the function what the function "
            "refers to, such as locks, open files and datasets.") from cause
    raise ValueError("The search cannot be sent to a worker of executor: "
                     f"{words.one_line(error)}") from error
  name = uuid.uuid4().hex
  return Sent(name, submit(
      executor, check_worker, str(directory.path), name))


def send_data(directory: files.Directory, data: list) -> None:
  """Writes the arrays of the data of each fold."""
  _write(directory, _DATA, [
      dataclasses.replace(part, source=None) for part in data])


def _write(directory, name, value):
  with files.written(directory.path / name) as temporary:
    with open(temporary, "wb") as file:
      _Pickler(file).dump(value)


@functools.lru_cache(maxsize=1)
def _read_functions(directory, sent):
  """Returns the `SentSearch` of a directory."""
  del sent  # Another one for each call of fit.
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
        f"{words.one_line(error)} Install what is missing on the workers, or "
        "call cloudpickle.register_pickle_by_value with your own module."
    ) from error


@functools.lru_cache(maxsize=1)
def _read_data(directory, sent):
  """Returns the data of a search, whose tensors this process has once."""
  functions = _read_functions(directory, sent)
  with open(os.path.join(directory, _DATA), "rb") as file:
    data = pickle.load(file)
  for part in data:
    part.source = functions.source
    if functions.held_out is not None:
      part.held_out.source = functions.held_out
  return data


def specs_of(source: Any) -> str:
  """Returns a text that tells the batches of a `BatchSource`; "" for None."""
  return "" if source is None else ", ".join(
      f"{spec.dtype.name} {spec.shape}" for spec in source.layout.specs)


def check_executor(executor: Any) -> Any:
  """Returns the executor to use for an argument `executor`, or None.

  Raises:
    TypeError: the argument is no executor.
    ValueError: the workers of the executor are forks.
  """
  if executor is None:
    return None
  if not isinstance(executor, type) and callable(
      getattr(executor, "get_executor", None)):
    executor = executor.get_executor()  # A Client of Dask.
  if isinstance(executor, type) or not callable(
      getattr(executor, "submit", None)):
    raise TypeError(
        f"executor={words.described(executor)}: expected an object with the "
        "interface of concurrent.futures.Executor, such as a "
        "ProcessPoolExecutor.")
  forks.check_executor(executor)
  return executor


def submit(executor: Any, function: Any, *arguments: Any) -> futures.Future:
  """Returns the future of a call by a worker.

  Raises:
    TypeError: `executor` returns something else than a future.
  """
  future = executor.submit(function, *arguments)
  if not isinstance(future, futures.Future):
    raise TypeError(
        f"executor={words.described(executor)} returned "
        f"{words.described(future)} from submit: expected a "
        "concurrent.futures.Future, as the executors of concurrent.futures, "
        "loky, Dask and mpi4py return.")
  return future


def check_worker(directory: str, sent: str) -> None:
  """Raises an error in a worker that cannot train; see `train_network`."""
  forks.check_process()
  runtime.grow_gpu_memory()
  search = _read_functions(directory, sent)
  making.set_settings(search.settings)
  specs = specs_of(search.source)
  if specs != search.specs:
    raise ValueError(
        f"x makes other batches in a worker than in the program: {specs}, and "
        f"{search.specs} in the program. A worker imports modules anew, without "
        "what the program has changed in them: give the function what it needs.")


def train_network(given: WorkerTask) -> files.NetworkRecord | None:
  """Trains a network in a worker of an executor.

  Returns:
    The record; None if the search was stopped.

  Raises:
    RuntimeError: TensorFlow would hang in this process.
    ValueError: the worker builds another model than the program, or the
      training fails.
  """
  check_worker(given.directory, given.sent)
  search = _read_functions(given.directory, given.sent)
  task = search.task(given.key, given.copies)
  directory = files.Directory(given.directory)
  folder = directory.folder(task.key)
  record = folder.record()
  if record is not None:
    return record
  if directory.is_stopping():
    return None
  data = _read_data(given.directory, given.sent)
  _check_model(given, search, data)
  key = (given.directory, given.sent, task.key.function)
  fold = data[task.key.fold]
  with devices.one_more(given.number) as device:
    network = _ended.borrow(key, task, fold, device) or (
        network_lib.Network(task, fold, device))
    network.begin(folder)
    record = network.train(directory.is_stopping)
  if record is not None and (task.key.folds > 1 or task.key.iteration):
    _ended.add(key, network)
  return record


def _check_model(given, search, data):
  """Checks once in a process that it builds the program's model."""
  key, expected = given.signed
  if (given.sent, key.function) in _checked:
    return
  task = search.task(key, given.copies)
  with task.seeded():
    model = task.build_model()
    signature = signatures.sign(model, rows_lib.first_batch(
        data[key.fold].held_out, models.fixed_size(model) or rows_lib.CHECK_SIZE))
  problem = signatures.difference(expected, signature)
  if problem:
    raise ValueError(
        f"{task.owner} makes another model in a worker than in the program: "
        f"{problem}. A worker imports modules anew, without what the program "
        "has changed in them: make, adapt or load in the function, or in its "
        "module, what the model needs.")
  _checked.add((given.sent, key.function))
