# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is tried before the first step, so that a mistake costs no training.

Each function makes its model, whose steps are traced on the shapes of the data,
and the judge judges something. The first models are kept for their training.
"""

import json
from typing import Any, NamedTuple
import weakref

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import digests
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import making
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import steps as steps_lib
from adanet.ensemble_search import words
from adanet.tf_compat import runtime
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
# Models that were tried are kept for their turn, up to so many and so large.
_MAX_KEPT = 16
_MAX_KEPT_VALUES = 10**7
# Names that Keras resolves by the shape of the labels.
_BY_SHAPE = ("accuracy", "acc", "crossentropy", "ce")
_OF_PROBABILITIES = ("SparseCategoricalCrossentropy", "CategoricalCrossentropy",
                     "BinaryCrossentropy")


class TrialResult(NamedTuple):
  """What was found out before the first step.

  Attributes:
    made: dict with the networks that were made and kept, by their keys.
    judge: `Judge`.
    compiling: what the ensemble is compiled with.
    names: list with the names of its outputs, or None.
    given: dict from an argument to its text with a digest.
  """
  made: dict[files.Key, network_lib.Network]
  judge: judge_lib.Judge
  compiling: making.Compiling
  names: list[str] | None
  given: dict[str, str]


def check_compiling(given: making.Compiling) -> None:
  """Checks the names of losses, metrics and optimizers.

  Raises:
    ValueError: Keras does not know one.
  """
  for name, get, value in (
      ("loss", keras.losses.get, given.loss),
      ("metrics", keras.metrics.get, given.metrics),
      ("optimizer", keras.optimizers.get, given.optimizer)):
    for one in ([value] if name == "optimizer" else
                arrays.named(name, value).values()):
      if name == "metrics" and one in _BY_SHAPE:
        continue
      if isinstance(one, str):
        try:
          get(one)
        except ValueError as error:
          raise ValueError(
              f"{name}={one!r}: expected a name that Keras knows. "
              f"{words.one_line(error)}") from error
      # Keras makes an optimizer of a dict.
      elif one is not None and not callable(one) and not isinstance(
          one, (dict, keras.optimizers.Optimizer)):
        raise ValueError(f"{name}={words.described(one)}: expected what "
                         "Model.compile takes.")


def tried(tasks: list[list[network_lib.NetworkTask]], data: list,
          directory: files.Directory, given: making.Compiling,
          digest: digests.Digest) -> TrialResult:
  """Tries all functions; see the module.

  Args:
    tasks: lists of the tasks of each iteration.
    data: list with the `RowData` of each fold, or with `StreamData`.
    directory: of the search.
    given: what models that are not compiled are compiled with.
    digest: of the models.

  Raises:
    ValueError: something does not fit.
  """
  made: dict[files.Key, network_lib.Network] = {}
  found: dict[str, str] = {}
  kept = 0
  first: Any = None
  compiled: Any = None
  names: list[list[str] | None] = []
  owners: dict[int, Any] = {}
  used: list[str | None] = []
  for task in _next_tasks(tasks, directory):
    rows = data[task.key.fold]
    network = network_lib.Network(task, rows, devices.least_loaded(
        runtime.gpu_names(), used))
    used.append(network.device)
    model = network.model
    _check_sizes(task.owner, model, data)
    _check_own(owners, task.owner, model)
    example = network.example()
    _check_floats(task.owner, example)
    _check_again(network, rows.layout(), len(tasks) * len(data) > 1)
    found[task.owner] = digest.of_model(model, task.function)
    names.append(getattr(model, "output_names", None))
    if first is None:
      first = example, task
      _check_values(network, rows)
      _check_range(network, given.loss)
    else:
      _check_same(first[0], first[1].owner, example, task.owner)
    if given.loss is None:
      compiled = _same_loss(compiled, task.owner, model)
    size = model.count_params()
    if not made or (
        len(made) < _MAX_KEPT and kept + size < _MAX_KEPT_VALUES):
      made[task.key] = network
      kept += size
  compiling = given if given.loss is not None else making.Compiling(
      given.optimizer, *compiled[2:])
  named = names[0] if all(one == names[0] for one in names) or any(
      isinstance(one, dict) for one in compiling[1:]) else None
  judge = judge_lib.Judge(
      compiling, [one.held_out for one in data], first[0], named)
  try:
    value = judge.values(
        first[0].outputs, first[0].masks, fold=first[1].key.fold)
  except Exception as error:
    raise ValueError(
        f"loss or metrics cannot judge the outputs of {first[1].owner}: "
        f"{words.one_line(error)}") from error
  if "val_loss" not in value:
    raise ValueError(f"loss={words.described(given.loss)} gives no value.")
  return TrialResult(made, judge, compiling, named, found)


def _check_sizes(owner, model, data):
  """Raises an error if a model of fixed batches does not fit each fold."""
  size = network_lib.fixed_size(model)
  if size is not None and len(data) > 1 and any(
      one.layout().size is None or one.held_out.layout(size).size is None
      for one in data):
    raise ValueError(
        f"folds={len(data)}: {owner} takes batches of {size} rows: expected "
        "folds whose rows, and the rows outside of them, divide by it.")


def _check_own(owners, owner, model):
  """Raises an error if another network trains a variable of a model, too.

  Args:
    owners: dict from the id of a variable to a reference and a function's name.
    owner: str, the function's name.
    model: what it made.
  """
  weights = set(map(id, model.non_trainable_weights))
  for one in (*model.variables, *model.metrics_variables):
    if id(one) in weights:
      continue
    reference, other = owners.get(id(one), (lambda: None, None))
    if reference() is one:
      raise ValueError(
          f"{owner} has the variable {one.path} of {other}: expected one of "
          "its own. Make its layers in its function, or set trainable=False.")
    owners[id(one)] = weakref.ref(one), owner


def _check_again(network, layout, makes_several):
  """Raises an error if a function does not make the same model again.

  By this, `search.model` is made.

  Args:
    network: of the function.
    layout: `Layout` of the data.
    makes_several: bool, whether the function makes several networks.
  """
  task, model = network.task, network.model
  x, outputs = network.sample()
  with making.seeded(task.key.seed(task.seed)):
    again = making.made(task.owner, task.function, task.compiling)
    ensemble_model.prepare(again, x)
  if makes_several:
    owners = {}
    for one in (model, again):
      _check_own(owners, task.owner + " of another call" * bool(owners), one)
  again.set_weights(model.get_weights())
  if not ensemble_model.predicts(again, x, outputs):
    raise ValueError(
        f"{task.owner} makes another model each time: with the same weights "
        "its predictions are others. Expected the same one, by which "
        "search.model is made. Draw constants from numpy.random or random, "
        "which are seeded for each call, or outside of the function.")
  try:
    ensemble_model.ensemble(
        [ensemble_model.EnsembleMember(task.key.name, 1., again)], layout,
        making.Compiling(loss="mse"), None)
  except Exception as error:
    raise ValueError(f"{task.owner} cannot be a part of search.model: "
                     f"{words.one_line(error)}") from error


def _next_tasks(tasks, directory):
  """Returns the task of each function that is next to train, or the last."""
  found = {}
  for task in (task for some in tasks for task in some):
    found.setdefault(task.key.function, []).append(task)
  return [next((task for task in some if directory.folder(
      task.key).record() is None), some[0]) for some in found.values()]


def _same_loss(before, owner, model):
  """Returns the owner, the digest and the arguments of a compiled model.

  Raises:
    ValueError: another model is compiled with another loss.
  """
  loss = model.loss
  weights = model.get_compile_config().get("loss_weights")
  text = digests.Digest().text([loss, weights])
  if before is not None and before[1] != text:
    raise ValueError(
        f"loss=None: {before[0]} is compiled with "
        f"{words.described(before[2])}, and {owner} with "
        f"{words.described(loss)} of other values, or with other loss_weights: "
        "give the loss that compares them. Each trains with its own.")
  if before is not None:
    return before
  metrics = None
  try:
    metrics = keras.saving.deserialize_keras_object(
        model.get_compile_config()["metrics"], safe_mode=False)
  except Exception:  # A function of the user.  # pylint: disable=broad-except
    pass
  return owner, text, loss, metrics, weights


def _check_floats(owner, example):
  """Raises an error if a model has an output that has no mean."""
  for array in example.outputs:
    if array.dtype.kind not in "fc":
      raise ValueError(
          f"{owner} returns an output of the type {array.dtype.name}: expected "
          "floats, because an ensemble is the mean of its members' outputs. "
          "Leave this output out, and compute it from those of search.model.")


def _check_same(one, first, other, owner):
  """Raises an error if two models have other outputs.

  Args:
    one, other: predictions of the models.
    first, owner: how messages name the models.
  """
  shapes = [[[None, *array.shape[1:]] for array in found.outputs]
            for found in (one, other)]
  kinds = [keras.tree.map_structure(lambda _: 0, found.structure)
           for found in (one, other)]
  if shapes[0] != shapes[1] or kinds[0] != kinds[1]:
    raise ValueError(
        f"{owner} returns {_words(other)}, and {first} {_words(one)}: "
        "expected the same, because an ensemble is their mean.")
  if [mask is None for mask in one.masks] != [
      mask is None for mask in other.masks]:
    raise ValueError(
        f"The outputs of {owner} and {first} are masked in one only: "
        "expected the same. Give sample_weight of each timestep, and remove "
        "the mask from the output.")


def _words(example):
  shapes = [str([None, *one.shape[1:]]) for one in example.outputs]
  if isinstance(example.structure, dict):
    shapes = [f"{key}: {one}" for key, one in zip(
        sorted(example.structure), shapes)]
  return ", ".join(shapes)


def _check_range(network, loss):
  """Checks that outputs are probabilities, where a loss of Keras says so."""
  if loss is None or isinstance(loss, (dict, list, tuple)):
    return
  known = keras.losses.get(loss) if isinstance(loss, str) else loss
  name = getattr(known, "__name__", type(known).__name__)
  is_named = name.replace("_", "").lower() in [
      one.lower() for one in _OF_PROBABILITIES]
  config = known.get_config() if is_named and hasattr(
      known, "get_config") else {}
  if not is_named:
    return
  _, outputs = network.sample()
  is_probable = all(
      (one >= -1e-3).all() and (one <= 1.001).all() for one in outputs)
  if not config.get("from_logits", False) and not is_probable:
    raise ValueError(
        f"{network.task.owner} returns numbers that are not probabilities, and "
        f"the loss {name} takes probabilities: end the model in a softmax or a "
        f"sigmoid, or give keras.losses.{_class_name(name)}(from_logits=True).")


def _class_name(name):
  return next(one for one in _OF_PROBABILITIES
              if one.lower() == name.replace("_", "").lower())


def _check_values(network, data):
  """Raises an error about NaN in the data, unless the model can take it."""
  held_out = getattr(data.held_out, "batch", None)
  given = getattr(getattr(data, "trained", None), "batch", held_out)
  found = [] if given is None else arrays.not_finite(given)
  if held_out is not None and held_out is not given:
    found += ["held-out " + one for one in arrays.not_finite(held_out)]
  if not found:
    return
  other = network_lib.Network(network.task, data, network.device)
  if not np.isfinite(other.checked().get("loss", np.nan)) or (
      not np.isfinite(other.loss_of_training())):
    raise ValueError(
        f"{found[0]}, and the loss of {network.task.owner} is not finite: "
        "expected finite numbers. Leave these rows out, or fill them, for "
        "example with numpy.nan_to_num.")


def loaded(path: str, name: str, value: Any) -> Any:
  """Returns an argument of the search that a directory has.

  Args:
    path: str, the directory.
    name: str, the argument.
    value: as `saved` returned it.

  Raises:
    ValueError: it is an object of the user's program.
  """
  if isinstance(value, dict) and "own" in value:
    raise ValueError(
        f"{name}=None: the search in {path!r} has {value['own']}, which is not "
        f"of Keras: expected the {name} of before.")
  if isinstance(value, dict) and "keras" in value:
    return keras.saving.deserialize_keras_object(value["keras"])
  if isinstance(value, dict) and "dict" in value:
    return {key: loaded(path, name, one) for key, one in value["dict"].items()}
  if isinstance(value, list):
    return [loaded(path, name, one) for one in value]
  return value


def saved(value: Any) -> Any:
  """Returns an argument of `Model.compile` as JSON has it."""
  if value is None or isinstance(value, (str, int, float)):
    return value
  if isinstance(value, dict):
    return {"dict": {key: saved(one) for key, one in value.items()}}
  if isinstance(value, (list, tuple)):
    return list(map(saved, value))
  try:
    # Keras leaves schedules of learning rates as objects.
    text = json.dumps(
        keras.saving.serialize_keras_object(value),
        default=keras.saving.serialize_keras_object)
    # Keras changes what it reads.
    again = keras.saving.deserialize_keras_object(json.loads(text))
    # Keras leaves some options out of configs.
    digest = digests.Digest()
    if isinstance(value, keras.optimizers.Optimizer) or (
        digest.text(again) == digest.text(value)):
      return {"keras": json.loads(text)}
  except Exception:  # An object of the user.  # pylint: disable=broad-except
    pass
  return {"own": getattr(value, "__name__", type(value).__name__)}


def layout_content(layout: steps_lib.Layout) -> dict[str, Any]:
  """Returns the structure and the specs of x as JSON has them."""
  count = len(steps_lib.flat_arrays(layout.structure[0]))
  return {"structure": layout.structure[0], "specs": [
      {"kind": type(spec).__name__, "shape": list(spec.shape),
       "dtype": spec.dtype.name} for spec in layout.specs[:count]]}


def layout_of(content: dict[str, Any]) -> steps_lib.Layout:
  """Returns the `Layout` of x that `layout_content` wrote."""
  kinds = {"TensorSpec": tf.TensorSpec, "SparseTensorSpec": tf.SparseTensorSpec,
           "RaggedTensorSpec": tf.RaggedTensorSpec}
  return steps_lib.Layout(
      (content["structure"],), [
          kinds[one["kind"]](one["shape"], tf.dtypes.as_dtype(one["dtype"]))
          for one in content["specs"]], None)
