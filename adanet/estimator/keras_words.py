# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Says which words of an Estimator replace the words of a Keras model.

Keras gives a model its loss by `compile`, and its data and its epochs by `fit`.
Here the head has the loss, the input_fn the data, and the Estimator the steps.
"""

import functools
import inspect
from typing import Any, Collection, Mapping, Type, TypeVar

_T = TypeVar("_T")

_DATA = ("give a function as input_fn, such as adanet.inputs.numpy_input_fn("
         "x, y, shuffle=True)")
_HELD_OUT = ("give train a validation_input_fn, such as adanet.inputs."
             "numpy_input_fn(x_val, y_val, shuffle=False)")
_STEPS = "give the Estimator max_iteration_steps, a number of batches"
_WEIGHTS = "give the head the name of a feature as weight_column"

# The replacement of an argument.
_ARGUMENTS = {
    "x": _DATA,
    "y": _DATA,
    "batch_size": "give batch_size to numpy_input_fn, or call batch() on the "
                  "dataset",
    "callbacks": (
        "give the Estimator patience to stop early, or train hooks, which are "
        "SessionRunHooks; TensorBoard and checkpoints need nothing but "
        "model_dir"),
    "class_weight": _WEIGHTS,
    "epochs": _STEPS,
    "initial_epoch": "training goes on from what model_dir has",
    "loss": "give a head, such as adanet.heads.RegressionHead()",
    "metrics": "give metric_fn; the head has metrics of its own",
    "sample_weight": _WEIGHTS,
    "shuffle": "give shuffle to numpy_input_fn, or call shuffle() on the "
               "dataset",
    "steps_per_epoch": _STEPS,
    "validation_batch_size": _HELD_OUT,
    "validation_data": _HELD_OUT,
    "validation_split": _HELD_OUT,
    "validation_steps": "give the Estimator an adanet.Evaluator with steps",
    "verbose": "progress goes to standard error, or to the log with "
               "absl.logging.set_verbosity(absl.logging.INFO)",
}

# The replacement of a method.
_METHODS = {
    "compile": ("give the Estimator a head, which has the loss, and the models "
                "an optimizer"),
    "export": "call export_saved_model",
    "fit": "call train(input_fn)",
    "get_weights": "call get_variable_names and get_variable_value",
    "load_weights": "make an Estimator with the same model_dir",
    "predict_on_batch": "call predict(input_fn)",
    "save": ("model_dir has all that is trained; call export_saved_model for "
             "serving"),
    "save_weights": "model_dir has all that is trained",
    "summary": "call print(estimator.history())",
    "test_on_batch": "call evaluate(input_fn, steps=1)",
    "train_on_batch": "call train(input_fn, steps=1)",
}


def check_arguments(owner: str, unknown: Collection[str],
                    replacements: Mapping[str, str] = _ARGUMENTS) -> None:
  """Raises a TypeError if there are unknown arguments.

  Args:
    owner: str, the called class or method, for the message.
    unknown: their names.
    replacements: from the name of an argument to what replaces it.
  """
  if not unknown:
    return
  # Some have the same line.
  advice = "; ".join(dict.fromkeys(
      replacements[name] for name in unknown if name in replacements))
  raise TypeError(f"{owner} has no argument {', '.join(unknown)}" + (
      advice and ": " + advice))


def _checked(method):
  """Returns a method that has a line for each unknown argument."""
  known = inspect.signature(method).parameters

  @functools.wraps(method)
  def call(*args, **kwargs):
    check_arguments(
        method.__name__, [name for name in kwargs if name not in known])
    return method(*args, **kwargs)

  return call


def explained(cls: Type[_T]) -> Type[_T]:
  """Decorates the class of an Estimator: words of Keras get a line."""

  def __getattr__(self: Any, name: str) -> Any:
    if name in _METHODS:
      raise AttributeError(
          f"{type(self).__name__} has no {name}: {_METHODS[name]}")
    return object.__getattribute__(self, name)  # Raises Python's own error.

  for name in "train", "evaluate", "predict":
    setattr(cls, name, _checked(getattr(cls, name)))
  setattr(cls, "__getattr__", __getattr__)
  return cls
