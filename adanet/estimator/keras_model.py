# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The best ensemble as a `keras.Model`, made of the user's models.

Each member is made again by its function, eagerly, and gets the values that it
has in the graph which predicts. So the model is what `Estimator.predict`
computes, and holds nothing of adanet.
"""

import contextlib
from typing import Any, Dict, List, NamedTuple

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.estimator import auto_compiled
from adanet.estimator import auto_networks
from adanet.estimator import best_ensemble
from adanet.estimator import serving_input
from adanet.training import input as input_lib
import numpy as np


class _KerasMember(NamedTuple):
  """A network of the ensemble, with its values.

  Attributes:
    name: str, such as "t0_wide".
    network: `KerasNetwork`, which has built it in a graph.
    values: list of arrays, those of the model's variables, in their order.
    are_eager: list of bool, whether the variables were made eagerly.
    weight: array, or dict from head to array; None in a mean.
  """
  name: str
  network: auto_networks.KerasNetwork
  values: List[np.ndarray]
  are_eager: List[bool]
  weight: Any


def _check_keras():
  if not tf_compat.HAS_KERAS_3:
    raise ValueError(
        "keras_model() makes a model of Keras 3: expected TensorFlow 2.16 or "
        "later. Before, use export_saved_model.")
  if not tf_compat.v2.executing_eagerly():
    raise ValueError(
        "keras_model() makes layers eagerly: call it outside of a graph, in a "
        "program that does not disable eager execution.")


def _features(model):
  """Returns the kinds of the features of a search, by name."""
  fingerprint = model.model_dir.fingerprint()
  if fingerprint is None or not fingerprint.features:
    raise ValueError(
        f"model_dir={model.model_dir.path!r} does not say which features the "
        "models take: expected a search that this version of adanet has "
        "trained, whose input_fn gives a dense tensor or a dict of them. Train "
        "a further step to write it, or use export_saved_model.")
  return fingerprint.features


def _in_structure(features):
  """Returns a single feature by itself, or the dict of all."""
  return features[""] if list(features) == [""] else features


def _weights(ensemble, num_members):
  """Returns the variables of the weights, by member; and those of the bias.

  Raises:
    ValueError: it is an ensemble of a user's class.
  """
  if isinstance(ensemble, ensemble_lib.ComplexityRegularized):
    return [one.weight for one in ensemble.weighted_subnetworks], ensemble.bias
  if isinstance(ensemble, ensemble_lib.MeanEnsemble):
    if ensemble.predictions:
      raise ValueError(
          "keras_model() has the mean of the logits alone: expected a "
          "MeanEnsembler without add_mean_last_layer_predictions.")
    return [None] * num_members, None
  raise ValueError(
      f"keras_model() cannot make a {type(ensemble).__name__} of layers of "
      "Keras: expected an ensemble of GreedyEnsembler, MeanEnsembler or "
      "ComplexityRegularizedEnsembler. Or use export_saved_model.")


def _network(name, subnetwork):
  network = isinstance(subnetwork.shared, dict) and subnetwork.shared.get(
      "network")
  if not isinstance(network, auto_networks.KerasNetwork) or (
      not network.is_keras_3):
    raise ValueError(
        f"keras_model() cannot make {name} of layers of Keras: expected a "
        "function of the pool without arguments that makes a model of Keras 3. "
        "Or use export_saved_model.")
  return network


def _run(session, values):
  """Returns the arrays of variables; some are arrays already."""
  found = iter(session.run(
      [value for value in values if not isinstance(value, np.ndarray)]))
  return [value if isinstance(value, np.ndarray) else next(found)
          for value in values]


def _read(best, kinds):
  """Returns the `_KerasMember`s of the best ensemble, and its bias.

  Args:
    best: `BestEnsemble`.
    kinds: dict from the name of each feature to its `InputFeature`.
  """
  def read(strategy):
    del strategy  # Nothing is read from it.
    return input_lib.Input(_in_structure({
        name: tf_compat.v1.placeholder(kind.dtype, kind.shape)
        for name, kind in kinds.items()}), None, [])

  with best.model.graph_on(read, "infer", best.number) as built:
    opened = best.open_session(built)
  with contextlib.closing(opened), opened.entered() as session:
    spec = best.spec(built.iteration)
    of_ensemble = list(spec.ensemble.subnetworks)
    members = [
        (f"t{t}_{name}", subnetwork)
        for (t, name), subnetwork in zip(
            spec.architecture.subnetworks, spec.subnetworks)
        if any(subnetwork is one for one in of_ensemble)]
    weights, bias = _weights(spec.ensemble, len(members))
    fetches = []
    for (name, subnetwork), weight in zip(members, weights):
      network = _network(name, subnetwork)
      fetches.append(_KerasMember(
          name, network, network.values, network.are_eager, weight))
    found = [
        one._replace(values=_run(session, one.values),
                     weight=None if one.weight is None else session.run(
                         one.weight)) for one in fetches]
    return found, None if bias is None else session.run(bias)


def _set_values(member, model, seen):
  """Gives a model the values of a member.

  Args:
    member: `_KerasMember`.
    model: the model, made anew.
    seen: dict from the id of each variable of the members before to its name
      and value.
  """
  variables = list(model.variables)
  shapes = [tuple(variable.shape) for variable in variables]
  expected = [value.shape for value in member.values]
  if shapes != expected:
    raise ValueError(
        f"{member.network.owner} makes another model than in training: its "
        f"variables have the shapes {shapes}, and had {expected}. Use the "
        "function of before.")
  for variable, value, is_eager in zip(
      variables, member.values, member.are_eager):
    if is_eager:
      # The function sets it, and it may be of a layer that is not the search's.
      if not np.array_equal(variable.numpy(), value):
        raise ValueError(
            f"{member.network.owner} makes another model than in training: "
            f"{variable.path!r} has another value. Give its layer the weights "
            "of before.")
      continue
    name, before = seen.setdefault(id(variable), (member.name, value))
    if before is not value and not np.array_equal(before, value):
      raise ValueError(
          f"{member.network.owner}: {name} and {member.name} share the "
          f"variable {variable.path!r}, with two values: make its layer inside "
          "of the function.")
    variable.assign(value)


def _weighted(name, last_layer, logits, weight):
  """Returns a member's part of the logits of a head."""
  layers = tf_compat.keras_3.layers
  if np.ndim(weight) < 2:
    # A number, or one for each logit.
    return layers.Rescaling(
        np.asarray(weight).tolist(), dtype="float32", name=name)(logits)
  times = layers.Dense(
      weight.shape[-1], use_bias=False, dtype="float32", name=name)
  result = times(last_layer)
  times.set_weights([weight])
  return result


def _join(members, last_layers, logits, weights, bias, suffix):
  """Returns the logits of a head: the sum of all parts, or their mean.

  Args:
    members: list of `_KerasMember`.
    last_layers: list with the tensor of each.
    logits: the same.
    weights: the same, of arrays; None in a mean.
    bias: array of shape [logits_dimension], or None.
    suffix: str, the end of the names of layers.
  """
  layers = tf_compat.keras_3.layers
  if weights[0] is None:
    join, name = layers.Average, "mean"
  else:
    join, name = layers.Add, "sum"
    logits = [_weighted(f"{member.name}_weight{suffix}", *of_member)
              for member, *of_member in zip(
                  members, last_layers, logits, weights)]
  result = logits[0]
  if len(logits) > 1:
    result = join(dtype="float32", name=name + suffix)(logits)
  if bias is not None and np.any(bias):
    result = layers.Rescaling(
        1., np.asarray(bias).tolist(), dtype="float32",
        name="bias" + suffix)(result)
  return result


def _outputs(members, made, bias):
  """Returns the output of the ensemble; for a multi-head a dict of them."""
  last_layers = [one.last_layer for one in made]
  logits = [one.logits for one in made]
  weights = [member.weight for member in members]
  if not isinstance(logits[0], dict):
    return _join(members, last_layers, logits, weights, bias, "")
  return {
      head: _join(
          members, *([one and one[head] for one in of_all]
                     for of_all in (last_layers, logits, weights)),
          bias and bias[head], f"_{head}")
      for head in logits[0]}


def build(best: best_ensemble.BestEnsemble, head: Any) -> Any:
  """Returns the best ensemble as a `keras.Model`; see `keras_model`.

  Args:
    best: `BestEnsemble`.
    head: the head of the search.

  Raises:
    ValueError: it cannot be made of layers of Keras.
  """
  _check_keras()
  keras = tf_compat.keras_3
  kinds = _features(best.model)
  members, bias = _read(best, kinds)
  inputs = {
      name: keras.Input(
          kind.shape[1:], name=name or None, dtype=serving_input.request_dtype(
              tf_compat.v1.as_dtype(kind.dtype)).name)
      for name, kind in kinds.items()}
  seen: Dict[int, Any] = {}
  made = []
  for member in members:
    made.append(member.network.made_again(member.name, _in_structure(inputs)))
    _set_values(member, made[-1].model, seen)
  used = {id(tensor) for one in made
          for tensor in tf_compat.v2.nest.flatten(one.inputs)}
  needed = {name: tensor for name, tensor in inputs.items()
            if id(tensor) in used}
  model = keras.Model(
      next(iter(needed.values())) if len(needed) == 1 else needed,
      _outputs(members, made, bias))
  arguments = auto_compiled.of_head(head)
  if arguments is None:
    logging.info(
        "keras_model() is not compiled: Keras has no loss that means %s. "
        "Compile it before evaluate and fit.", type(head).__name__)
  else:
    model.compile("adam", **arguments)
    model.optimizer.build(model.trainable_variables)  # So that it is saved.
  return model
