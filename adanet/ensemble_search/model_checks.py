# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a model that a function builds, before a step of it.

Each check is of the model, or of its predictions for a few held-out rows.
"""

import dataclasses
from typing import Any
import weakref

from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import steps as steps_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_OF_PROBABILITIES = ("SparseCategoricalCrossentropy", "CategoricalCrossentropy",
                     "BinaryCrossentropy")
OTHER_MODEL = (
    "{} makes another model each time: {}. Expected the same model, because "
    "search.model is built by the function, too. Draw constants from "
    "numpy.random or random, which are seeded for each call, or outside of the "
    "function.")


@dataclasses.dataclass
class ModelExample:
  """A network of a function, and a second model of the function.

  Attributes:
    network: `Network`, which has not trained.
    batch: `(x, y, weights)` or the beginning, of some held-out rows.
    predictions: `HeldOutPredictions` of the network for these rows.
    again: `keras.Model`, the second model.
  """
  network: network_lib.Network
  batch: tuple
  predictions: records.HeldOutPredictions
  again: Any

  def __post_init__(self) -> None:
    model = self.network.model
    ids = set(map(id, (*model.variables, *model.metrics_variables)))
    #: Variables that both models have: the function did not make them.
    self.outer = [variable for variable in (
        *self.again.variables, *self.again.metrics_variables)
                  if id(variable) in ids]
    #: Those that a call of a model changes in training.
    self.changed_by_call = self._find_changed()

  def _find_changed(self):
    values = list(map(keras.ops.convert_to_numpy, self.outer))
    if self.outer:
      self.again(self.batch[0], training=True)
    changed = []
    for variable, value in zip(self.outer, values):
      if not np.array_equal(keras.ops.convert_to_numpy(variable), value):
        changed.append(variable)
        variable.assign(value)
    return changed


class OuterVariables:
  """Variables of layers that were made outside of the functions."""

  def __init__(self):
    # By the id of a variable: a reference to it, the function that has it, and
    # whether this function's networks change it while they train.
    self._known = {}

  def check(self, owner: str, example: ModelExample, is_repeated: bool) -> None:
    """Raises an error if networks would change a variable of each other.

    An error is also a variable that trains and that the function did not make:
    training would change the program's own layer.

    `example` is of the function `owner`, of which several networks train if
    `is_repeated`.
    """
    again = example.again
    trainable = set(map(id, again.trainable_variables))
    changed = set(map(id, (
        *again.metrics_variables, *example.changed_by_call)))
    for variable in example.outer:
      if id(variable) in trainable:
        raise ValueError(
            f"{owner} would train the variable {variable.path}, which the "
            "function did not make: expected a layer that is made in the "
            "function, or trainable=False.")
      reference, other, others_change = self._known.get(
          id(variable), (lambda: None, "", False))
      is_shared = reference() is variable
      is_changed = id(variable) in changed
      if is_shared and (others_change or is_changed) or (
          is_changed and is_repeated):
        raise ValueError(
            f"{owner} has the variable {variable.path} of "
            f"{other if is_shared else 'another call'}, and networks change "
            "it while they train: expected a variable of its own. Make its "
            "layer in the function. A layer without get_config, or in a model "
            "of your own class, cannot be copied for each network.")
      self._known[id(variable)] = weakref.ref(variable), owner, is_changed


def check_rebuilt(example: ModelExample) -> None:
  """Raises an error if a function does not build the same model again.

  So `search.model` is built. The config of a model of Keras tells as much.
  """
  network, x = example.network, example.batch[0]
  task, model = network.task, network.model
  again = models_lib.copy_outer_model(task.owner, example.again, model)
  late = [variable.path for variable in model.weights[len(again.weights):]]
  if late:
    raise ValueError(
        f"{task.owner} has variables that its train_step alone makes, such as "
        f"{late[0]}: expected variables that a call makes, too, because a file "
        "has all. Build their layers in the function.")
  again.set_weights(model.get_weights())
  if not ensemble_model.predicts(again, x, example.predictions.outputs):
    raise ValueError(OTHER_MODEL.format(
        task.owner, "with the same weights its predictions differ"))
  try:
    ensemble_model.ensemble(
        [ensemble_model.EnsembleMember(task.key.name, 1., again)],
        network.layouts[0], models_lib.CompileArguments(loss="mse"), None)
  except Exception as error:
    raise ValueError(f"{task.owner} cannot be a part of search.model: "
                     f"{messages.one_line(error)}") from error


def check_floats(owner, predictions):
  """Raises an error if a model has an output that has no mean."""
  for array in predictions.outputs:
    if array.dtype.kind not in "fc":
      raise ValueError(
          f"{owner} returns an output of the type {array.dtype.name}: expected "
          "floats, because an ensemble is the mean of its members' outputs. "
          "Leave this output out, and compute it from those of search.model.")


def check_same(owner, predictions, other_owner, others):
  """Raises an error if two models predict other structures or shapes."""
  if _shapes(predictions) != _shapes(others):
    raise ValueError(
        f"{other_owner} returns {_describe_outputs(others)}, and {owner} "
        f"{_describe_outputs(predictions)}: expected the same, because an "
        "ensemble is their mean.")
  if [mask is None for mask in predictions.masks] != [
      mask is None for mask in others.masks]:
    raise ValueError(
        f"The outputs of {other_owner} and {owner} are masked in only one of "
        "them: expected the same. Give sample_weight of each timestep, and "
        "remove the mask from the output.")


def _shapes(predictions):
  """Returns the shapes of the outputs of a model, in their structure."""
  outputs = iter(predictions.outputs)
  return keras.tree.map_structure(
      lambda _: str([None, *next(outputs).shape[1:]]), predictions.structure)


def _describe_outputs(predictions):
  """Returns the outputs of a model: "[None, 3]" for a single output."""
  return str(_shapes(predictions)).replace("'", "")


def check_range(owner, outputs, loss):
  """Checks that outputs are probabilities, where a loss of Keras says so."""
  keras_loss = keras.losses.get(loss) if isinstance(loss, str) else loss
  name = getattr(keras_loss, "__name__", type(keras_loss).__name__)
  known = next((kind for kind in _OF_PROBABILITIES
                if kind.lower() == name.replace("_", "").lower()), None)
  if known is None or getattr(keras_loss, "get_config", dict)().get(
      "from_logits", False) or all(
          # NaN is another mistake.
          not (array < -1e-3).any() and not (array > 1.001).any()
          for array in outputs):
    return
  raise ValueError(
      f"{owner} returns numbers that are not probabilities, and the loss "
      f"{known} takes probabilities: end the model in a softmax or a sigmoid, "
      f"or give keras.losses.{known}(from_logits=True).")


def check_monitor(network: network_lib.Network) -> None:
  """Raises an error if a network's own logs lack what is monitored."""
  monitor = network.task.training.monitor.name
  logs = getattr(network.steps.check, "structured_outputs", None)
  if logs is None:  # An eager model, whose first epoch tells.
    return
  names = ["val_" + name for name in steps_lib.flat_logs(logs)]
  if monitor not in names:
    raise ValueError(
        f"monitor={monitor!r}: the logs of {network.task.owner} are "
        f"{', '.join(map(repr, names))}: expected a metric of the search and of "
        "each compiled model, by this name. Give for example metrics=["
        "keras.metrics.AUC(name=\"auc\")] for \"val_auc\".")


def check_finite(network: network_lib.Network, split: Any) -> list[str]:
  """Raises an error about NaN in y or weights, unless the loss takes NaN.

  Returns what is wrong with x, in words. Another model may take NaN.
  """
  trained = getattr(split, "trained", None)
  wrong = [] if trained is None else list(trained.not_finite)
  if split.held_out_rows() is None:  # These are other arrays.
    wrong += [(argument, "held-out " + text, rows)
              for argument, text, rows in split.held_out.not_finite]
  for argument, text, rows in wrong:
    if argument != "x" and not _has_finite_loss(network, rows):
      raise ValueError(
          f"{text}, and the loss of {network.task.owner} is not finite: "
          "expected finite numbers. Leave these rows out.")
  return [text for argument, text, _ in wrong if argument == "x"]


def _has_finite_loss(network, rows):
  """Returns whether the loss of a few rows is finite, or cannot be computed."""
  size, model = network.check_size, network.model
  layout = rows.layout(size)._replace(size=size)
  if layout[:2] != network.layouts[1][:2] and not steps_lib.is_of_keras(
      model, "test_step"):
    return True  # Another test_step may be for other batches.
  steps = steps_lib.Steps(model, layout, layout, 0)
  model.reset_metrics()
  flat, numbers = rows.first_chunk(size)
  with devices.scope(network.device), models_lib.kept_states(model):
    logs = steps.check(flat, tf.constant(np.resize(numbers[0], size)))
  return np.isfinite(steps.logs("test_step", logs).get("loss", np.nan))
