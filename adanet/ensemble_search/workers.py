# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the workers of an executor get, check and train.

A search is sent by two files in its directory: `functions.pickle` has what the
user's program has made, such as the functions of models with all that they
refer to, and `data.pickle` has the arrays. A process reads each file once.

A worker answers by a value, also about an error. So any error of a future is
the executor's, which has lost the worker or the answer.
"""

from collections.abc import Callable, Iterable
from concurrent import futures
import dataclasses
import functools
import gc
import io
import mmap
import os
import pickle
import socket
import traceback
from typing import Any
import uuid

from adanet import forks
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import models
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import signatures
from adanet.ensemble_search import tasks as tasks_lib
from adanet.tf_compat import runtime
import cloudpickle
import numpy as np

keras: Any = tf_compat.keras_3
_SETTINGS = ("floatx", "epsilon", "image_data_format", "dtype_policy")
_DATA, _FUNCTIONS = "data.pickle", "functions.pickle"
_MODULES = ("A worker imports modules anew, without what the program has "
            "changed in them")
_kept = kept_networks.KeptNetworks()  # Of this process.
# Pairs of a call of fit and of a maker whose model this process has checked.
_checked: set[tuple[str, str]] = set()
# By the maker, the key of a network, and the signature of the program's model.
SignatureOfMaker = dict[str, tuple[records.NetworkKey, signatures.Signature]]


def settings() -> dict[str, Any]:
  """Returns settings of Keras that a thread or a process may not have."""
  values = {name: getattr(keras.config, name)() for name in _SETTINGS}
  return {**values, "dtype_policy": values["dtype_policy"].name}


def set_settings(values: dict[str, Any]) -> None:
  """Sets the `settings` of the user's program."""
  for name, value in values.items():
    getattr(keras.config, f"set_{name}")(value)


@dataclasses.dataclass
class SentSearch:
  """What the program has made, and workers cannot make themselves.

  Attributes:
    functions: dict from a name to the function of a model.
    training: `TrainingArguments`.
    source: the `BatchSource` of `x`, or None for arrays.
    held_out: the `BatchSource` of `validation_data` that is too large to keep,
      or None.
    settings: dict, `settings` of the program.
    specs: str, `specs_of` the source.
  """
  functions: dict[str, Any]
  training: tasks_lib.TrainingArguments
  source: Any
  held_out: Any
  settings: dict[str, Any]
  specs: str

  def task(self, key: records.NetworkKey, worker_task: "WorkerTask"
          ) -> tasks_lib.NetworkTask:
    """Returns the task of a network of the same function and trial."""
    return tasks_lib.NetworkTask(
        key, self.functions[key.function], self.training,
        worker_task.hyperparameters, worker_task.copies)

  def by_argument(self) -> dict[str, Any]:
    """Returns the user's objects by the names of the arguments."""
    return {
        **{f"models[{name!r}]": function
           for name, function in self.functions.items()},
        **self.training.arguments._asdict(),
        "callbacks": self.training.callbacks,
        "x": self.source, "validation_data": self.held_out}


@dataclasses.dataclass
class WorkerTask:
  """What an executor sends for a network: some hundred bytes.

  Attributes:
    number: int, the place of the task: workers that see the same GPUs begin
      with different GPUs.
    key: `NetworkKey`.
    directory: str, the folder of the search.
    fit_id: str, see `SentFiles`.
    hyperparameters, copies: see `NetworkTask`.
    signed_key: the key of a network of the same function or trial.
    signature: `Signature` of the model that the program built for `signed_key`.
  """
  number: int
  key: records.NetworkKey
  directory: str
  fit_id: str
  hyperparameters: dict[str, Any] | None
  copies: bool
  signed_key: records.NetworkKey
  signature: signatures.Signature


@dataclasses.dataclass
class WorkerAnswer:
  """What a worker returns: a record, or an error that ends `fit`."""
  record: records.NetworkRecord | None = None
  error: Exception | None = None
  traceback: str = ""


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
  """Returns how to map a part of a file again; None if there is no such file.

  Changes of a copy-on-write map are in no file.
  """
  root = array
  while isinstance(root.base, np.ndarray):
    root = root.base
  if not array.size or not isinstance(root.base, mmap.mmap) or (
      array.mode == "c" or not array.filename or
      not os.path.exists(array.filename)):
    return None
  place, start = (part.__array_interface__["data"][0] for part in (array, root))
  return _map_file, (array.filename, array.dtype, array.shape, array.strides,
                     root.offset + place - start)


def _map_file(filename, dtype, shape, strides, offset):
  file = np.memmap(filename, np.uint8, "r")
  return np.ndarray(shape, dtype, file, offset, strides).view(np.memmap)


@dataclasses.dataclass
class SentFiles:
  """The files of a search that the workers of an executor read.

  Attributes:
    directory: `Directory` of the search.
    fit_id: str, another text for each call of `fit`.
    check: future of `check_worker`, by one of the workers.
    signed: dict, to which the preflight adds each maker.
    has_data: bool, whether `data.pickle` is written.
  """
  directory: files.Directory
  fit_id: str
  check: futures.Future
  signed: SignatureOfMaker
  has_data: bool = False

  def send_data(self, splits: list) -> None:
    """Writes the arrays of each split, once for all iterations."""
    if not self.has_data:
      _write(self.directory, _DATA, [
          dataclasses.replace(split, source=None) for split in splits])
      self.has_data = True

  def worker_task(self, number: int, task: tasks_lib.NetworkTask
                 ) -> WorkerTask:
    return WorkerTask(
        number, task.key, str(self.directory.path), self.fit_id,
        task.hyperparameters, task.copies, *self.signed[task.key.maker])


def send(directory: files.Directory, search: SentSearch, executor: Any,
         signed: SignatureOfMaker) -> SentFiles:
  """Writes what workers cannot make, and has a worker read the file."""
  for source in (search.source, search.held_out):
    if source is not None and isinstance(
        source.dataset, tf_compat.v2.data.Dataset):
      raise TypeError(f"{source.name} is a tf.data.Dataset, which an executor "
                      "cannot send: give a function that makes the dataset.")
  try:
    _write(directory, _FUNCTIONS, search)
  except Exception as error:
    name, cause = _find_unsendable(search) or ("The search", error)
    raise ValueError(
        f"{name} cannot be sent to a worker of executor: "
        f"{messages.one_line(cause)} Make in the function what the function "
        "refers to, such as locks, open files and datasets.") from cause
  fit_id = uuid.uuid4().hex
  try:
    check = submit(executor, check_worker, str(directory.path), fit_id)
  except futures.BrokenExecutor as error:
    raise died(error) from error
  return SentFiles(directory, fit_id, check, signed)


def _find_unsendable(search):
  """Returns the name of an argument that cannot be sent, and the error."""
  for name, value in search.by_argument().items():
    try:
      dumps(value)
    except Exception as error:  # pylint: disable=broad-except
      return name, error
  return None


def _write(directory, name, value):
  with files.atomic_write(directory.path / name) as temporary:
    with open(temporary, "wb") as file:
      _Pickler(file).dump(value)


@functools.lru_cache(maxsize=1)
def _read_functions(directory, fit_id):
  """Returns the `SentSearch` of a directory."""
  del fit_id  # A key of the cache.
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
def _read_data(directory, fit_id):
  """Returns the splits of a search, whose tensors this process has once."""
  search = _read_functions(directory, fit_id)
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


def submit(executor: Any, function: Callable[..., Any], *arguments: Any
          ) -> futures.Future:
  """Returns the future of a `WorkerAnswer`."""
  future = executor.submit(answer, function, *arguments)
  if not isinstance(future, futures.Future):
    raise TypeError(
        f"executor={messages.describe(executor)} returned "
        f"{messages.describe(future)} from submit: expected a "
        "concurrent.futures.Future, as the executors of concurrent.futures, "
        "loky, Dask and mpi4py return.")
  return future


def answer(function: Callable[..., Any], *arguments: Any) -> WorkerAnswer:
  """Calls a function in a worker."""
  try:
    return WorkerAnswer(function(*arguments))
  except Exception as error:  # pylint: disable=broad-except
    text = traceback.format_exc()
    try:
      pickle.loads(pickle.dumps(error))
    except Exception:  # Of a user's class.  # pylint: disable=broad-except
      error = RuntimeError(messages.with_type(error))
    return WorkerAnswer(error=error, traceback=text)


def check_worker(directory: str, fit_id: str) -> None:
  """Raises an error in a worker that cannot train; see `train_network`."""
  forks.check_process()
  runtime.grow_gpu_memory()
  search = _read_functions(directory, fit_id)
  set_settings(search.settings)
  specs = specs_of(search.source)
  if specs != search.specs:
    raise ValueError(
        f"x makes other batches in a worker than in the program: {specs}, and "
        f"{search.specs} in the program. {_MODULES}: give the function what it "
        "needs.")


def train_network(worker_task: WorkerTask) -> records.NetworkRecord | None:
  """Trains a network in a worker; raises errors that all networks would have.

  Returns the record, also of a network that failed; None if the search was
  stopped, or if another fold of the member has failed.
  """
  path, fit_id = worker_task.directory, worker_task.fit_id
  check_worker(path, fit_id)
  directory = files.Directory(path)
  folder = directory.folder(worker_task.key)
  record = folder.finished_record()
  if record is not None or directory.is_stopping():
    return record
  if _has_failed_fold(directory, worker_task.key):
    return None
  search = _read_functions(path, fit_id)
  task = search.task(worker_task.key, worker_task)
  before = folder.predicted_record()
  if folder.read_record() is None:  # The program sees that the network began.
    folder.write_record(records.NetworkRecord())
  split = _read_data(path, fit_id)[task.key.fold]
  if split.source is not None:
    split = dataclasses.replace(split, source=split.source.begin_anew())
  group = (path, fit_id, task.key.maker)
  network = None
  try:
    _check_model(worker_task, search)
    with devices.worker_device(worker_task.number) as device:
      network = _kept.build(group, task, split, device)
      network.start(folder)
      record = network.train(directory.is_stopping)
      if record is None and directory.is_out_of_time():
        record = network.finish_early()
  except Exception as error:  # pylint: disable=broad-except
    record = failures.record_failure(
        task.key, folder, error, network, before)
    network = None
  if network is None:
    gc.collect()  # A model has cycles, and the next network needs its memory.
  # Another iteration may never come.
  elif record is not None and (task.key.folds > 1 or task.key.iteration):
    _kept.add_ended(group, network)
  return record


def _has_failed_fold(directory, key):
  """Returns whether another network of the same member has failed."""
  records = [directory.folder(key._replace(fold=fold)).read_record()
             for fold in range(key.folds) if fold != key.fold]
  return any(record is not None and record.error for record in records)


def _check_model(worker_task, search):
  """Raises an error if the model differs from the program's, once a function.
  """
  key = worker_task.signed_key
  if (worker_task.fit_id, key.maker) in _checked:
    return
  task = search.task(key, worker_task)
  split = _read_data(worker_task.directory, worker_task.fit_id)[key.fold]
  with task.seeded():
    model = task.build_model()
    signature = signatures.sign(model, rows_lib.first_batch(
        split.held_out, models.fixed_size(model) or rows_lib.CHECK_SIZE))
  problem = signatures.difference(worker_task.signature, signature)
  if problem:
    raise failures.OtherModelError(
        f"{task.owner} makes another model in a worker than in the program: "
        f"{problem}. {_MODULES}: make, adapt or load in the function, or in "
        "its module, what the model needs.")
  _checked.add((worker_task.fit_id, key.maker))


def died(error: Exception, names: Iterable[str] = ()) -> RuntimeError:
  """Returns the error about a worker that died, and ended the executor.

  `names` has the networks that the workers trained.
  """
  return RuntimeError(forks.describe_death(
      error, names, "All training so far is in the directory: call fit again "
      "with another executor to resume."))
