# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is tried before the first step, so that a mistake costs no training.

Each function makes its model, whose steps are traced on the shapes of the data,
and the judge judges something. The first models are kept for their training.
"""

from typing import Any, NamedTuple
import weakref

from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import digests
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import making
from adanet.ensemble_search import models
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import signatures
from adanet.ensemble_search import words
import numpy as np

keras = tf_compat.keras_3
# Networks that were tried are kept for their turn, up to so many parameters.
_MAX_KEPT_VALUES = 10**7
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
    signed: dict from the name of each function to the key of a network, and the
      `Signature` of the model of this network; empty without an executor.
    copying: set with the names of functions whose networks need copies of
      layers; see `making.build_model`.
  """
  made: dict[files.Key, network_lib.Network]
  judge: judge_lib.Judge
  compiling: making.Compiling
  names: list[str] | None
  given: dict[str, str]
  signed: dict[str, tuple[files.Key, signatures.Signature]]
  copying: set[str]


def tried(tasks: list[network_lib.NetworkTask], data: list,
          directory: files.Directory, given: making.Compiling,
          digest: digests.Digest, signs: bool) -> TrialResult:
  """Tries all functions, of the tasks of all iterations; see the module.

  `signs` says whether workers of an executor build models, too.

  Raises:
    ValueError: something does not fit.
  """
  made: dict[files.Key, network_lib.Network] = {}
  found: dict[str, str] = {}
  kept = 0
  first: Any = None
  compiled: Any = None
  names: list[list[str] | None] = []
  variables = _OuterVariables()
  signed: dict[str, tuple[files.Key, signatures.Signature]] = {}
  copying: set[str] = set()
  for i, (task, makes_several) in enumerate(_next_tasks(tasks, directory)):
    device = devices.least_loaded((), i)
    network = network_lib.Network(task, data[task.key.fold], device)
    network.trace()
    _check_sizes(task.owner, network.model, data)
    batch, predictions = network.sample()
    again = _build_again(task, batch[0])
    if _changed_by_call(again, _outer_variables(network.model, again), batch[0]
                       ):
      copying.add(task.key.function)
      task = task._replace(copies=True)
      network = network_lib.Network(task, data[task.key.fold], device)
      network.trace()
      again = _build_again(task, batch[0])
    model = network.model
    variables.check(task.owner, model, again, batch[0], makes_several)
    _check_floats(task.owner, predictions)
    if signs:
      signed[task.key.function] = task.key, signatures.common(
          signatures.sign(model, batch), signatures.sign(again, batch))
    _check_again(network, again, batch[0], predictions.outputs)
    found[task.owner] = digest.of_model(model, task.function)
    names.append(getattr(model, "output_names", None))
    if first is None:
      first = network, predictions
      _check_values(network, data[task.key.fold])
      _check_labels(network, data[task.key.fold])
      _check_range(task.owner, predictions.outputs, given.loss)
    else:
      _check_same(first[1], first[0].task.owner, predictions, task.owner)
    if given.loss is None:
      compiled = _same_loss(compiled, task.owner, model)
    size = model.count_params()
    # With callbacks, a network is traced after their on_train_begin.
    if task.callbacks is None and (
        not made or kept + size < _MAX_KEPT_VALUES):
      made[task.key] = network
      kept += size
  compiling = given if given.loss is not None else making.Compiling(
      given.optimizer, *compiled[2:])
  named = names[0] if all(one == names[0] for one in names) or any(
      isinstance(one, dict) for one in compiling[1:]) else None
  network = first[0]
  with models.kept_states(network.model):
    predictions = network.predictions()
  try:
    judge = judge_lib.Judge(
        compiling, [one.held_out for one in data], predictions, named)
    value = judge.values(predictions.outputs, predictions.masks,
                         fold=network.task.key.fold)
  except Exception as error:
    # A train_step of the user may need no labels, as that of an autoencoder.
    problem = ("loss or metrics cannot judge" if len(
        network.layouts[1].structure) > 1 else
               "y=None, and loss and metrics need labels, such as x, to judge")
    raise ValueError(f"{problem} the outputs of {network.task.owner}: "
                     f"{words.one_line(error)}") from error
  if "val_loss" not in value:
    raise ValueError(f"loss={words.described(given.loss)} gives no value.")
  return TrialResult(made, judge, compiling, named, found, signed, copying)


def _next_tasks(tasks, directory):
  """Returns the next task of each function, and whether it has several."""
  found = {}
  for task in tasks:
    found.setdefault(task.key.function, []).append(task)
  return [(next((task for task in some if directory.folder(
      task.key).record() is None), some[0]), len(some) > 1)
          for some in found.values()]


def _check_sizes(owner, model, data):
  """Raises an error if a model of fixed batches does not fit each fold."""
  size = models.fixed_size(model)
  if size is not None and len(data) > 1 and any(
      one.layout().size is None or one.held_out.layout(size).size is None
      for one in data):
    raise ValueError(
        f"folds={len(data)}: {owner} takes batches of {size} rows: expected "
        "folds whose rows, and the rows outside of them, divide by it.")


class _OuterVariables:
  """Variables of layers that were made outside of the functions."""

  def __init__(self):
    # By the id of a variable: a reference to it, the function that has it, and
    # whether this function's networks change it while they train.
    self._known: dict[int, tuple] = {}

  def check(self, owner: str, model: Any, again: Any, x: Any,
            makes_several: bool) -> None:
    """Raises an error if a variable that a network changes is another's, too.

    Args:
      owner: how messages name the function.
      model, again: what two calls of the function have made.
      x: some rows.
      makes_several: whether several networks of the function train.
    """
    outer = _outer_variables(model, again)
    changed = {id(variable) for variable in (
        *again.trainable_variables, *again.metrics_variables,
        *_changed_by_call(again, outer, x))}
    for variable in outer:
      reference, other, is_changed = self._known.get(
          id(variable), (lambda: None, None, False))
      is_shared = reference() is variable
      if is_shared and is_changed or id(variable) in changed and (
          is_shared or makes_several):
        raise ValueError(
            f"{owner} has the variable {variable.path} of "
            f"{other if is_shared else 'another call'}, and networks change "
            "it while they train: expected a variable of its own. Make its "
            "layer in the function, or set trainable=False.")
      self._known[id(variable)] = (
          weakref.ref(variable), owner, id(variable) in changed)


def _build_again(task, x):
  """Returns a second model of a network, which can be called."""
  with task.seeded():
    model = task.build_model()
    ensemble_model.prepare(model, x)
  return model


def _outer_variables(model, again):
  """Returns the variables that two models of a function have in common."""
  ids = {id(variable) for variable in (
      *model.variables, *model.metrics_variables)}
  return [variable for variable in (
      *again.variables, *again.metrics_variables) if id(variable) in ids]


def _changed_by_call(model, variables, x):
  """Returns which of some variables a call of a model changes in training."""
  before = list(map(keras.ops.convert_to_numpy, variables))
  if variables:
    model(x, training=True)
  changed = []
  for variable, value in zip(variables, before):
    if not np.array_equal(keras.ops.convert_to_numpy(variable), value):
      changed.append(variable)
      variable.assign(value)
  return changed


def _check_again(network, again, x, outputs):
  """Raises an error if a function does not make the same model again.

  By this, `search.model` is made. `outputs` are predictions for `x`.
  """
  task, model = network.task, network.model
  late = [variable.path for variable in model.weights[len(again.weights):]]
  if late:
    raise ValueError(
        f"{task.owner} has variables that its train_step alone makes, such as "
        f"{late[0]}: expected variables that a call makes, too, because a file "
        "has all. Build their layers in the function.")
  again.set_weights(model.get_weights())
  if not ensemble_model.predicts(again, x, outputs):
    raise ValueError(
        f"{task.owner} makes another model each time: with the same weights "
        "its predictions are others. Expected the same one, by which "
        "search.model is made. Draw constants from numpy.random or random, "
        "which are seeded for each call, or outside of the function.")
  try:
    ensemble_model.ensemble(
        [ensemble_model.EnsembleMember(task.key.name, 1., again)],
        network.layouts[0], making.Compiling(loss="mse"), None)
  except Exception as error:
    raise ValueError(f"{task.owner} cannot be a part of search.model: "
                     f"{words.one_line(error)}") from error


def _compile_config(model):
  """Returns what a model is compiled with, but for its optimizer.

  A user's schedule of learning rates needs no config to train.
  """
  optimizers = [optimizer for optimizer in (
      model.optimizer, getattr(model.optimizer, "inner_optimizer", None))
                if isinstance(optimizer, keras.optimizers.Optimizer)]
  for optimizer in optimizers:
    optimizer.get_config = dict
  try:
    with making.without_warnings():
      return model.get_compile_config()
  finally:
    for optimizer in optimizers:
      del optimizer.get_config


def _same_loss(before, owner, model):
  """Returns the owner, the digest and the arguments of a compiled model, once.
  """
  loss = model.loss
  config = _compile_config(model)
  weights = config.get("loss_weights")
  text = digests.Digest().text([loss, weights])
  if before is not None and before[1] != text:
    raise ValueError(
        f"loss=None: {before[0]} is compiled with "
        f"{words.described(before[2])}, and {owner} with "
        f"{words.described(loss)} of other values, or with other loss_weights: "
        "give the loss that compares them. Each trains with its own.")
  if before is not None:
    return before
  return (owner, text, loss, _metrics(owner, config, "metrics"), weights,
          _metrics(owner, config, "weighted_metrics"))


def _metrics(owner, config, name):
  """Returns an argument of `Model.compile`, or None for what Keras cannot read.
  """
  try:
    return keras.saving.deserialize_keras_object(
        config.get(name), safe_mode=False)
  except Exception as error:  # Of the user.  # pylint: disable=broad-except
    log.warning("Ensembles are not evaluated by the compiled %s of %s: %s Give "
                "EnsembleSearch the loss and the metrics.", name, owner,
                words.one_line(error))
    return None


def _check_floats(owner, predictions):
  """Raises an error if a model has an output that has no mean."""
  for array in predictions.outputs:
    if array.dtype.kind not in "fc":
      raise ValueError(
          f"{owner} returns an output of the type {array.dtype.name}: expected "
          "floats, because an ensemble is the mean of its members' outputs. "
          "Leave this output out, and compute it from those of search.model.")


def _check_same(one, first, other, owner):
  """Raises an error if two models predict other structures or shapes."""
  if _shapes(one) != _shapes(other):
    raise ValueError(
        f"{owner} returns {_words(other)}, and {first} {_words(one)}: "
        "expected the same, because an ensemble is their mean.")
  if [mask is None for mask in one.masks] != [
      mask is None for mask in other.masks]:
    raise ValueError(
        f"The outputs of {owner} and {first} are masked in one only: "
        "expected the same. Give sample_weight of each timestep, and remove "
        "the mask from the output.")


def _shapes(predictions):
  """Returns the shapes of the outputs of a model, in their structure."""
  rest = iter(predictions.outputs)
  return keras.tree.map_structure(
      lambda _: str([None, *next(rest).shape[1:]]), predictions.structure)


def _words(predictions):
  """Returns the outputs of a model: "[None, 3]" if it has one."""
  return str(_shapes(predictions)).replace("'", "")


def _check_range(owner, outputs, loss):
  """Checks that outputs are probabilities, where a loss of Keras says so."""
  known = keras.losses.get(loss) if isinstance(loss, str) else loss
  name = getattr(known, "__name__", type(known).__name__).replace("_", "")
  of_keras = next((one for one in _OF_PROBABILITIES
                   if one.lower() == name.lower()), None)
  if of_keras is None or getattr(known, "get_config", dict)().get(
      "from_logits", False) or all(
          (one >= -1e-3).all() and (one <= 1.001).all() for one in outputs):
    return
  raise ValueError(
      f"{owner} returns numbers that are not probabilities, and the loss "
      f"{of_keras} takes probabilities: end the model in a softmax or a "
      f"sigmoid, or give keras.losses.{of_keras}(from_logits=True).")


def _check_values(network, data):
  """Raises an error about NaN in the data, unless the model can take it."""
  for kind, rows in (("", getattr(data, "trained", None)),
                     ("held-out ", data.held_out)):
    wrong = rows and rows.not_finite
    if wrong and not np.isfinite(network.loss_of(wrong[1])):
      raise ValueError(
          f"{kind}{wrong[0]}, and the loss of {network.task.owner} is not "
          "finite: expected finite numbers. Leave these rows out, or fill "
          "them, for example with numpy.nan_to_num.")


def _check_labels(network, data):
  """Raises an error about the least or greatest label that trains.

  Those of held-out rows are judged before the first step anyway. The loss may
  refuse a class, or be NaN of it on a GPU.
  """
  trained, held_out = getattr(data, "trained", None), data.held_out
  if trained is None:
    return
  (own, others) = (arrays.extremes((*rows.batch, None)[1], rows.rows)
                   if isinstance(rows, rows_lib.Rows) else []
                   for rows in (trained, held_out))
  if not own or len(own) == len(others) and all(
      least[0] >= one[0] and most[0] <= other[0]
      for (least, most), (one, other) in zip(own, others)):
    return
  rows = [row for some in own for _, row in some]
  # Others too: a loss may look at a whole batch.
  if not np.isfinite(network.loss_of(trained.others(np.append(
      rows, trained.rows[:rows_lib.CHECK_SIZE]).astype(np.int32)))):
    raise ValueError(
        f"y has labels from {min(some[0][0] for some in own)} to "
        f"{max(some[1][0] for some in own)}, and the loss of "
        f"{network.task.owner} is not finite: expected labels that the loss "
        "takes, such as one for each output of the model, from 0 on.")
