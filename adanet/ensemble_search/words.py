# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `EnsembleSearch` answers to values and arguments that it cannot take."""

from collections.abc import Mapping
import inspect
import re
from typing import Any

# The replacement of an argument of `Model.fit` or `Model.compile`, or of one
# that AutoKeras or KerasTuner have.
_EPOCH = "an epoch is all rows of x once"
_CHECKS = "held-out rows are checked after each epoch, all of them"
_SEARCH = "give models, a dict of functions; each of a tuner's trials is one"
_ARGUMENTS = {
    "auto_scale_loss": "compile the model in its function",
    "class_weights": "its name is class_weight",
    "epoch": "its name is epochs",
    "executors": "its name is executor",
    "initial_epoch": "fit goes on from what directory has",
    "jit_compile": "compile the model with it in its function",
    "learning_rate": "give an optimizer, such as keras.optimizers.Adam(.01)",
    "max_trials": _SEARCH,
    "metric": "its name is metrics, a list",
    "model": "its name is models, a dict",
    "objective": "the ensemble with the least val_loss is selected",
    "overwrite": "give another directory, or remove the old one",
    "project_name": "directory is the folder of the search",
    "run_eagerly": "compile the model with it in its function",
    "sample_weights": "its name is sample_weight",
    "shuffle": "rows of arrays are shuffled anew in each epoch, by seed; a "
               "dataset shuffles by itself",
    "steps_per_epoch": _EPOCH,
    "steps_per_execution": "steps need no such argument here",
    "use_multiprocessing": "give executor, such as a ProcessPoolExecutor",
    "validation_batch_size": _CHECKS,
    "validation_freq": _CHECKS,
    "validation_steps": _CHECKS,
    "weighted_metrics": "compile the models with it in their functions",
    "workers": "give executor, such as a ProcessPoolExecutor",
}
# The replacement of an attribute of a `keras.Model`, or of a tuner.
_ATTRIBUTES = {
    "compile": "give EnsembleSearch loss, metrics and optimizer",
    "estimator": "there is none behind it; read model, history or members",
    "evaluate": "call model.evaluate(x, y)",
    "export": "call model.export(path)",
    "export_model": "read model",
    "get_best_models": "read model, the ensemble of the best",
    "get_weights": "call model.get_weights()",
    "layers": "read model.layers",
    "load_model": "call EnsembleSearch.load(directory, models)",
    "predict": "call model.predict(x)",
    "results_summary": "call leaderboard()",
    "save": "call model.save(\"name.keras\")",
    "save_weights": "call model.save_weights(path)",
    "search": "call fit(x, y)",
    "summary": "call model.summary() or leaderboard()",
    "train": "call fit(x, y)",
    "weights": "read model.weights",
}
_MAX_LENGTH = 60
_MAX_NAME = 80  # A folder has at most 255, and three for a letter.
_MODELS = ("expected a dict from a name to a function without arguments that "
           "makes a Keras model, such as {\"wide\": make_wide}")
_SHOWN = ("auto", 0, 1, 2)


def described(value: Any) -> str:
  """Returns a short description of a value that a user gave."""
  text = repr(value)
  if isinstance(value, (str, int, float, bool, type(None))) or (
      len(text) <= _MAX_LENGTH and not text.startswith("<") and
      "\n" not in text):
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "..."
  return f"a value of type {type(value).__name__}"


def one_line(error: BaseException) -> str:
  """Returns the text of an error in one line, without where it was."""
  text = str(error.args[0] if isinstance(error, KeyError) and error.args
             else error)
  if "Detected at node" in text:
    # TensorFlow's reason comes last, behind a line for each function.
    text = text.split("\n\n")[-1]
  for mark in ("[[{{node", " [Op:"):
    text = text.split(mark)[0]
  text = " ".join(re.sub(r"\x1b\[\d*m", "", text).split())
  text = text or type(error).__name__
  return text if len(text) < 2000 else text[:2000] + " ..."


def attribute_error(owner: str, name: str) -> AttributeError:
  """Returns the error for an attribute that does not exist."""
  advice = _ATTRIBUTES.get(name)
  return AttributeError(
      f"{owner} has no {name}: {advice}." if advice else
      f"{owner!r} object has no attribute {name!r}")


def check_arguments(owner: str, names: Any) -> None:
  """Checks that there are no unknown arguments.

  Raises:
    TypeError: there is one.
  """
  for name in names:
    advice = _ARGUMENTS.get(name)
    raise TypeError(f"{owner} has no argument {name}" + (
        f": {advice}." if advice else "."))


def check_count(name: str, value: Any) -> None:
  """Checks that an argument is an int of at least 1.

  Raises:
    ValueError: the argument is something else.
  """
  if isinstance(value, bool) or not hasattr(value, "__index__") or (
      getattr(value, "ndim", 0) != 0 or value < 1):
    raise ValueError(f"{name}={described(value)}: expected an int of at least "
                     "1.")


def check_seed(seed: Any) -> None:
  """Checks the argument `seed`.

  Raises:
    ValueError: the seed is no int from 0 to 2**31 - 1, and not None.
  """
  if seed is not None and (isinstance(seed, bool) or not isinstance(
      seed, int) or not 0 <= seed < 2**31):
    raise ValueError(f"seed={described(seed)}: expected an int from 0 to "
                     "2**31 - 1, or None.")


def check_fit(counts: Mapping[str, Any], folds: Any, max_members: Any,
              max_seconds: Any, verbose: Any, executor: Any) -> None:
  """Checks the arguments of `fit` that are no data.

  Raises:
    ValueError: an argument has a wrong value.
    TypeError: `executor` is no executor.
  """
  for name, value in counts.items():
    check_count(name, value)
  if max_members is not None:
    check_count("max_members", max_members)
  if folds is not None and (
      isinstance(folds, bool) or not hasattr(folds, "__index__") or folds < 2):
    raise ValueError(f"folds={described(folds)}: expected an int of at least "
                     "2, or None for one held-out part.")
  if max_seconds is not None and (
      isinstance(max_seconds, bool) or
      not isinstance(max_seconds, (int, float)) or not max_seconds > 0):
    raise ValueError(f"max_seconds={described(max_seconds)}: expected a number "
                     "greater than 0, or None.")
  if isinstance(verbose, bool) or not isinstance(
      verbose, (int, str)) or verbose not in _SHOWN:
    raise ValueError(f"verbose={described(verbose)}: expected \"auto\", 0, 1 "
                     "or 2.")
  if executor is not None and not hasattr(executor, "submit"):
    raise TypeError(
        f"executor={described(executor)}: expected an object with the "
        "interface of concurrent.futures.Executor, such as a "
        "ProcessPoolExecutor.")


def checked_models(models: Any) -> dict[str, Any]:
  """Returns the functions of the argument `models` by name.

  Raises:
    TypeError: `models` is no dict or list, or has a value that is no function.
    ValueError: `models` is empty, a name cannot be that of a folder and a
      layer, or a function needs arguments.
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
    _check_function(f"models[{name!r}]", function)
  return dict(models)


def _of_model(value):
  if hasattr(type(value), "trainable_weights"):
    return f"a Keras {'model' if hasattr(value, 'fit') else 'layer'}"
  return "a function" if callable(value) else described(value)


def _check_function(owner, function):
  """Checks that a value can be called without arguments."""
  if hasattr(type(function), "trainable_weights"):
    raise ValueError(
        f"{owner} is {_of_model(function)}: expected a function that makes "
        "one, because each network is a new model, such as lambda: "
        "keras.Sequential([...]).")
  if not callable(function):
    raise TypeError(f"{owner} is {described(function)}: expected a function "
                    "without arguments that makes a Keras model.")
  try:
    parameters = inspect.signature(function).parameters.values()
  except (TypeError, ValueError):
    return
  required = [p.name for p in parameters if p.default is p.empty and
              p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
  if required:
    raise ValueError(
        f"{owner}: the function needs the arguments {', '.join(required)}: "
        "expected one without arguments. Wrap it in a lambda.")
