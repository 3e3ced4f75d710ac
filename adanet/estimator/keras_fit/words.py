# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Answers to arguments and attributes of Keras that are not here."""

from typing import Any, Dict

from adanet.core import user_input

_EPOCH = "an epoch is all rows of x once"
_CHECKS = "held-out data are read once after each epoch, all of them"
_SEARCH = ("give models, a dict of functions; each of a tuner's trials is one "
           "of them")

# The replacement of an argument of `Model.fit` or `Model.compile`, or of one
# that AutoKeras or KerasTuner have.
ARGUMENTS: Dict[str, str] = {
    "auto_scale_loss": "give an optimizer a keras.mixed_precision."
                       "LossScaleOptimizer",
    "callbacks": ("each network ends by patience and has the values of its "
                  "best epoch, and directory has checkpoints and the curves "
                  "for TensorBoard"),
    "class_weights": "its name is class_weight",
    "epoch": "its name is epochs",
    "executors": "its name is executor",
    "initial_epoch": "fit goes on from what directory has",
    "jit_compile": "give it to keras.Sequential or keras.Model in the function",
    "learning_rate": "give an optimizer, such as keras.optimizers.Adam(.01)",
    "max_trials": _SEARCH,
    "metric": "its name is metrics, a list",
    "model": "its name is models, a dict",
    "objective": ("the ensemble with the least loss on held-out data is "
                  "selected"),
    "overwrite": "give another directory, or remove the one of before",
    "project_name": "directory is the folder of the search",
    "run_eagerly": "models are traced; call one yourself to debug it",
    "sample_weights": "its name is sample_weight",
    "shuffle": "rows of arrays are shuffled by seed, again in each epoch; a "
               "function that returns a tf.data.Dataset shuffles by itself",
    "steps_per_epoch": _EPOCH,
    "steps_per_execution": "steps need no such argument here",
    "use_multiprocessing": "give executor, such as a ProcessPoolExecutor",
    "validation_batch_size": _CHECKS,
    "validation_freq": _CHECKS,
    "validation_steps": _CHECKS,
    "weighted_metrics": "metrics are without weights; the loss has them",
    "workers": "give executor, such as a ProcessPoolExecutor",
}

# The replacement of an attribute of a `keras.Model`, or of a tuner.
_ATTRIBUTES: Dict[str, str] = {
    "compile": "give EnsembleSearch loss, metrics and optimizer",
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


def attribute_error(owner: str, name: str) -> AttributeError:
  """Returns the error for an attribute that there is not."""
  advice = _ATTRIBUTES.get(name)
  return AttributeError(
      f"{owner} has no {name}: {advice}" if advice else
      f"{owner!r} object has no attribute {name!r}")


def check_count(name: str, value: Any) -> None:
  """Checks that an argument is an int of at least 1.

  Raises:
    ValueError: it is not.
  """
  is_count = (not isinstance(value, bool) and hasattr(value, "__index__") and
              getattr(value, "ndim", 0) == 0)
  if not is_count or value < 1:
    raise ValueError(f"{name}={user_input.described(value)}: expected an int "
                     "of at least 1.")
