# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of `EnsembleSearch` that need no data and no model."""

from collections.abc import Mapping, Sequence
import inspect
import os
import re
import shutil
import tempfile
import types
from typing import Any, Protocol
import weakref

from adanet import checks
from adanet import log
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import records

keras = tf_compat.keras_3
_MAX_NAME = 80  # A folder has at most 255 bytes, and three for a letter.
# Arguments that a later call of `fit` may change.
_LIMITS = ("epochs:", "patience:")
_DIGEST = r"(^| )[0-9a-f]{16,20}$"  # Says nothing to a reader.


class _Maker(Protocol):

  def __call__(self, *args: Any, **kwargs: Any) -> Any:
    ...


class _Function(Protocol):
  """All that mypy knows of a dict of functions with different arguments."""

  @property
  def __code__(self) -> types.CodeType:
    ...


#: The argument `models` of a search.
Models = Mapping[str, _Maker | _Function] | Sequence[_Maker | _Function]


def check_backend() -> None:
  """Raises a ValueError if the backend of Keras is not TensorFlow."""
  backend = keras.backend.backend()
  if backend != "tensorflow":
    raise ValueError(f"EnsembleSearch needs Keras's backend \"tensorflow\", "
                     f"and it is {backend!r}: set KERAS_BACKEND=tensorflow.")


def absolute_path(directory: Any) -> str | None:
  """Returns the argument `directory` as an absolute path, or None."""
  path = checks.check_folder("directory", directory)
  if path is None:
    return None
  if "://" in path:
    raise ValueError(
        f"directory={path!r}: expected a folder of this machine. Mount the "
        "other file system, or copy the folder there after the search.")
  return os.path.abspath(os.path.expanduser(path))


class TemporaryFolder:
  """A new folder, which goes with this object or with the process."""

  def __init__(self) -> None:
    self.path = tempfile.mkdtemp(prefix="adanet-temporary-")
    weakref.finalize(self, _remove_folder, self.path, os.getpid())

  def __deepcopy__(self, memo):
    return self  # A copy of a search has the same folder.


def _remove_folder(path, process):
  if os.getpid() == process:  # A forked child leaves the folder.
    shutil.rmtree(path, ignore_errors=True)


def check_folds(folds: Any) -> Any:
  """Returns `folds`: an int of at least 2, what may be pairs, or None."""
  return folds if hasattr(folds, "__iter__") else checks.check_count(
      "folds", folds, 2, or_none=True)


def read_monitor(monitor: Any, mode: Any) -> records.Monitor:
  """Returns what the arguments `monitor` and `mode` say.

  Raises:
    ValueError: an argument has a wrong value.
  """
  if not isinstance(monitor, str) or not monitor.startswith("val_"):
    raise ValueError(f"monitor={messages.describe(monitor)}: expected "
                     "\"val_loss\", or \"val_\" and the name of a metric, such "
                     "as \"val_auc\".")
  if mode not in (("min", None) if monitor == "val_loss" else ("min", "max")):
    raise ValueError(f"mode={messages.describe(mode)} and monitor={monitor!r}: "
                     "expected \"min\" for a loss, and \"min\" or \"max\" for "
                     "a metric, whether less or more is better.")
  return records.Monitor(monitor, mode or "min")


def check_limits(max_seconds: Any, verbose: Any, executor: Any,
                 parallel: int | None, finalists: int | None, folds: Any
                ) -> None:
  """Raises an error if an argument of `fit` has a wrong value."""
  if max_seconds is not None:
    checks.check_number("max_seconds", max_seconds, lambda secs: secs > 0,
                        "a number greater than 0, or None")
  for is_wrong, message in (
      (finalists is not None and folds is None,
       f"finalists={finalists} and folds=None: expected folds, such as "
       "folds=5, whose others the finalists train."),
      (verbose not in ("auto", 0, 1, 2),
       f"verbose={messages.describe(verbose)}: expected \"auto\", 0, 1 or 2."),
      (executor is not None and parallel is not None,
       f"parallel={parallel} and executor are both given: expected one of "
       "them. An executor has its own number of workers.")):
    if is_wrong:
      raise ValueError(message)


def read_models(models: Any) -> dict[str, Any]:
  """Returns the functions of the argument `models` by name.

  Raises:
    TypeError: `models` is no dict or list, or has a value that is no function.
    ValueError: `models` is empty, or a name cannot be that of a folder.
  """
  if isinstance(models, (list, tuple)):
    names = [getattr(function, "__name__", "") for function in models]
    models = {name if name.isidentifier() and names.count(name) == 1 else
              f"model_{i}": function for i, (name, function) in enumerate(
                  zip(names, models))}
  is_dict = isinstance(models, Mapping)
  if not is_dict or not models:
    raise (ValueError if is_dict else TypeError)(
        f"models is {_describe_model(models)}: expected a dict from a name to "
        "a function that builds a Keras model, such as {\"wide\": make_wide}.")
  for name, function in models.items():
    if not _is_name(name):
      raise ValueError(
          f"models has the name {name!r}: expected a string such as \"wide_1\", "
          f"of at most {_MAX_NAME} bytes and without slashes. \"ensemble\" and "
          "names that end in a number as of a trial, \"wide #1\", are taken.")
    kind = _describe_model(function)
    if kind != "a function":
      raise TypeError(
          f"models[{name!r}] is {kind}: expected a function that builds a "
          "Keras model, because each network is a new model, such as "
          "lambda: keras.Sequential([...]).")
    try:
      inspect.signature(function).bind(
          *["trial"][:models_lib.count_arguments(function)])
    except TypeError as error:
      raise TypeError(
          f"models[{name!r}]: {error}: expected a function without arguments, "
          "or of a trial of Optuna alone. Give other arguments default values, "
          "or use functools.partial.") from error
    except ValueError:  # A function that is not written in Python.
      pass
  return dict(models)


def _is_name(name):
  """Returns whether a name can be that of a function and of a folder."""
  return isinstance(name, str) and all((
      name.isprintable(), len(name.encode()) <= _MAX_NAME, name != "ensemble",
      re.fullmatch(r"[^. /\\][^/\\]*", name), not re.search(r" #\d+$", name)))


def _describe_model(value):
  if hasattr(type(value), "trainable_weights"):
    return f"a Keras {'model' if hasattr(value, 'fit') else 'layer'}"
  return "a function" if callable(value) else messages.describe(value)


def check_attribute(name: str) -> None:
  """Raises an AttributeError about a missing attribute that the model has."""
  name_of_model = "evaluate" if name == "score" else name
  if not name.startswith("_") and hasattr(keras.Model, name_of_model):
    raise AttributeError(
        f"EnsembleSearch has no attribute {name!r}: expected "
        f"search.model.{name_of_model}, because search.model is the Keras model "
        "of the ensemble.", name=name)


def check_finalists(finalists: int | None, folds: int) -> None:
  """Raises a ValueError if finalists have no other folds to train."""
  if finalists is not None and folds < 2:
    raise ValueError(f"finalists={finalists} and folds of a single pair: "
                     "expected two pairs or more, or finalists=None.")


def compare(path: str, before: Mapping[str, Any], seed: int,
            digests: Mapping[str, str]) -> None:
  """Compares arguments with those of the search in a directory.

  Args:
    path: str, the directory.
    before: the content of search.json.
    seed: int, the seed of this call.
    digests: dict from an argument of this call to a text.

  Raises:
    ValueError: the search has other arguments.
  """
  differences = list_differences(before["digests"], digests)
  limits = [text for text in differences if text.startswith(_LIMITS)]
  differences = [text for text in differences if text not in limits]
  if before["seed"] != seed:
    differences.insert(0, f"seed: {before['seed']} before, {seed} now")
  if differences:
    raise ValueError(
        f"directory={path!r} has a search with something else: "
        f"{'; '.join(differences)}. Give the original arguments, or another "
        "directory.")
  if limits:
    log.warning("%s: finished networks stay as they are.", "; ".join(limits))


def list_differences(before: Mapping[str, str],
                     now: Mapping[str, str]) -> list[str]:
  """Returns in words what differs between dicts from argument to text."""
  differences = []
  for name in sorted({*before, *now}, key=lambda name: (name not in now, name)):
    texts = [digests.get(name) for digests in (before, now)]
    if texts[0] == texts[1]:
      continue
    old, new = ("none" if text is None else re.sub(
        _DIGEST, "", text) or "another value" for text in texts)
    differences.append(f"{name} has other values" if old == new else
                       f"{name}: {old} before, {new} now")
  return differences
