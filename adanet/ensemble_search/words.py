# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `EnsembleSearch` answers to arguments that it cannot take."""

from collections.abc import Mapping
import difflib
import inspect
import re
from typing import Any

# The replacement of an argument of `Model.fit`, `Model.compile` or a tuner.
_EPOCH = "an epoch is all rows of x once"
_CHECKS = "held-out rows are checked after each epoch, all of them"
_IN_FUNCTION = "compile the models with it in their functions"
_ARGUMENTS = {
    "initial_epoch": "fit goes on from what directory has",
    "jit_compile": _IN_FUNCTION, "run_eagerly": _IN_FUNCTION,
    "weighted_metrics": _IN_FUNCTION,
    "learning_rate": "give an optimizer, such as keras.optimizers.Adam(.01)",
    "max_trials": "give models, a dict of functions",
    "objective": "the ensemble with the least val_loss is selected",
    "overwrite": "give another directory, or remove the old one",
    "project_name": "directory is the folder of the search",
    "shuffle": "rows of arrays are shuffled anew in each epoch, by seed; a "
               "dataset shuffles by itself",
    "steps_per_epoch": _EPOCH, "validation_batch_size": _CHECKS,
    "validation_freq": _CHECKS, "validation_steps": _CHECKS,
    "workers": "give executor, such as a ProcessPoolExecutor",
}
# The replacement of an attribute of a tuner.
_ATTRIBUTES = {
    "compile": "give EnsembleSearch loss, metrics and optimizer",
    "estimator": "there is none behind it; read model, history or members",
    "export_model": "read model", "get_best_models": "read model",
    "load_model": "call EnsembleSearch.load(directory, models)",
    "results_summary": "call leaderboard()",
    "search": "call fit(x, y)", "train": "call fit(x, y)",
}
_MAX_LENGTH = 60
_MAX_NAME = 80  # A folder has at most 255, and three for a letter.
_MODELS = ("expected a dict from a name to a function without arguments that "
           "makes a Keras model, such as {\"wide\": make_wide}")


def described(value: Any) -> str:
  """Returns a short description of a value that a user gave."""
  text = repr(value)
  if isinstance(value, (str, int, float, bool, type(None))):
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "..."
  return (f"a value of type {type(value).__name__}" if len(
      text) > _MAX_LENGTH or text.startswith("<") or "\n" in text else text)


def one_line(error: BaseException) -> str:
  """Returns the text of an error in one line, without where it was."""
  text = str(error.args[0] if isinstance(error, KeyError) and error.args
             else error)
  if "Detected at node" in text:
    # TensorFlow's reason comes last, behind a line for each function.
    text = text.split("\n\n")[-1]
  text = re.split(r"\[\[\{\{node| \[Op:", text)[0]
  text = " ".join(re.sub(r"\x1b\[\d*m", "", text).split())
  text = text or type(error).__name__
  return text if len(text) < 2000 else text[:2000] + " ..."


def attribute_error(name: str, model: type) -> AttributeError:
  """Returns the error for an attribute, which `keras.Model` may have."""
  advice = _ATTRIBUTES.get(name)
  if advice is None and not name.startswith("_") and hasattr(model, name):
    is_method = callable(getattr(model, name))
    advice = f"call model.{name}(...)" if is_method else f"read model.{name}"
  return AttributeError(
      f"EnsembleSearch has no {name}: {advice}." if advice else
      f"'EnsembleSearch' object has no attribute {name!r}")


def check_arguments(owner: str, function: Any, names: Any) -> None:
  """Raises a TypeError about the first unknown argument, if there is one."""
  for name in names:
    advice = _ARGUMENTS.get(name)
    known = difflib.get_close_matches(
        name, inspect.signature(function).parameters, 1)
    if advice is None and known:
      advice = f"its name is {known[0]}"
    raise TypeError(f"{owner} has no argument {name}" + (
        f": {advice}." if advice else "."))


def check_count(name: str, value: Any, least: int = 1) -> None:
  """Raises a ValueError if an argument is no int of at least `least`."""
  if isinstance(value, bool) or not hasattr(value, "__index__") or (
      getattr(value, "ndim", 0) != 0 or value < least):
    raise ValueError(f"{name}={described(value)}: expected an int of at least "
                     f"{least}.")


def check_seed(seed: Any) -> None:
  """Raises a ValueError if `seed` is neither None nor a seed of NumPy."""
  if seed is not None and (isinstance(seed, bool) or not isinstance(
      seed, int) or not 0 <= seed < 2**31):
    raise ValueError(f"seed={described(seed)}: expected an int from 0 to "
                     "2**31 - 1, or None.")


def check_limits(max_seconds: Any, verbose: Any) -> None:
  """Raises a ValueError if an argument of `fit` has a wrong value."""
  if max_seconds is not None and (
      isinstance(max_seconds, bool) or
      not isinstance(max_seconds, (int, float)) or not max_seconds > 0):
    raise ValueError(f"max_seconds={described(max_seconds)}: expected a number "
                     "greater than 0, or None.")
  if repr(verbose) not in ("'auto'", "0", "1", "2"):
    raise ValueError(f"verbose={described(verbose)}: expected \"auto\", 0, 1 "
                     "or 2.")


def checked_models(models: Any) -> dict[str, Any]:
  """Returns the functions of the argument `models` by name.

  Raises:
    TypeError: `models` is no dict or list, or has a value that is no function.
    ValueError: `models` is empty, or a name cannot be that of a folder.
  """
  if isinstance(models, (list, tuple)):
    names = [getattr(one, "__name__", "") for one in models]
    models = {name if name.isidentifier() and names.count(name) == 1 else
              f"model_{i}": one for i, (name, one) in enumerate(
                  zip(names, models))}
  if not isinstance(models, Mapping):
    raise TypeError(f"models is {_of_model(models)}: {_MODELS}.")
  if not models:
    raise ValueError(f"models={models!r}: {_MODELS}.")
  for name, function in models.items():
    if not isinstance(name, str) or not name.strip() or (
        not name.isprintable() or set(name) & set("/\\") or
        name[0] in ". " or len(name.encode()) > _MAX_NAME):
      raise ValueError(
          f"models has the name {name!r}: expected a text without slashes, of "
          f"at most {_MAX_NAME} bytes, such as \"wide_1\".")
    if _of_model(function) != "a function":
      kind = ValueError if callable(function) else TypeError
      raise kind(f"models[{name!r}] is {_of_model(function)}: expected a "
                 "function without arguments that makes a Keras model, because "
                 "each network is a new one, such as lambda: keras.Sequential("
                 "[...]).")
  return dict(models)


def _of_model(value):
  if hasattr(type(value), "trainable_weights"):
    return f"a Keras {'model' if hasattr(value, 'fit') else 'layer'}"
  return "a function" if callable(value) else described(value)

