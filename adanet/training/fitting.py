# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fits ensembles to a library, and evaluates them on its logits.

No network is run again. The evaluator reads its input once more, for labels and
for a `metric_fn` of features, and gets the logits of the same batch from the
library.
"""

import contextlib
import math
from typing import (Any, Container, Dict, Iterable, Mapping, NamedTuple,
                    Optional, Sequence, Tuple)

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import ensembles
from adanet.core import iteration as iteration_lib
from adanet.core import scoped_summary
from adanet.core import scopes
from adanet.core import selection
from adanet.core import subnetworks
from adanet.training import library as library_lib
from adanet.training import model as model_lib
from adanet.training import sessions
import numpy as np



class Fitted(NamedTuple):
  """A fitted ensemble.

  Attributes:
    architecture: `Architecture` of its members, without a global step.
    fit: `Fit`.
    network_losses: dict from the name of each network that it could have, such
      as "t0_linear", to the head's loss of that one alone.
  """
  architecture: architecture_lib.Architecture
  fit: selection.Fit
  network_losses: Dict[str, float]

  @property
  def weights(self) -> Tuple[float, ...]:
    """The weight of each member, in the order of the architecture."""
    return tuple(self.fit.members.values())


# Fitting.


def _put(tensors):
  """Returns features and labels of a dict from path to tensor."""
  found = {"features": {}, "labels": None}
  for path, tensor in tensors.items():
    inside = found
    for i, key in enumerate(path[:-1]):
      inner = inside.get(key)
      inside[key] = inside = {} if inner is None else inner
    inside[path[-1]] = tensor
  return found["features"], found["labels"]


@contextlib.contextmanager
def _loss_function(model, library):
  """Yields the function from logits to the head's loss on all examples."""
  v1 = tf_compat.v1
  with scopes.new_graph(None).as_default():
    like = next(iter(library.members.values())).logits
    is_dict = isinstance(like, dict)
    arrays = like if is_dict else {None: like}
    logits = {head: v1.placeholder(v1.float32, (None,) + array.shape[1:])
              for head, array in arrays.items()}
    # Constants, so that TensorFlow computes only once what depends on nothing
    # else, such as checks of labels.
    features, labels = _put({
        path: v1.convert_to_tensor_or_sparse_tensor(value)
        for path, value in library.inputs.items()})
    loss = subnetworks.LearningTask(
        model.search.head, None, features, labels, "train").apply_head(
            logits if is_dict else logits[None], "a fitted ensemble").loss
    with sessions.local_session(model.config.session_config) as session:
      session.run(sessions.local_init_op(()))
      run = session.make_callable(loss, list(logits.values()))
      yield lambda values: float(run(
          *([values[head] for head in logits] if is_dict else [values])))


def _is_finite(logits):
  return all(np.isfinite(array).all() for array in (
      logits.values() if isinstance(logits, dict) else [logits]))


def _mean(members, weights):
  """Returns the weighted sum of the members' logits."""
  first = members[0].logits
  if isinstance(first, dict):
    return {head: _mean([m._replace(logits=m.logits[head]) for m in members],
                        weights) for head in first}
  total = np.zeros(first.shape, np.float32)
  for member, weight in zip(members, weights):
    total += np.float32(weight) * member.logits
  return total


def _checked(weights, planned, num_members):
  """Returns the weights that a user's ensembler has found, as a tuple."""
  try:
    found = tuple(float(weight) for weight in weights)
  except (TypeError, ValueError):
    found = ()
  if len(found) != num_members or not any(found) or not all(
      map(math.isfinite, found)):
    raise ValueError(
        f"ensemble {planned.name!r}: fit of the ensembler "
        f"{planned.fitted_by.name!r} returned {weights!r}: expected a finite "
        f"number for each of the {num_members} members, not all of them 0")
  return found


def _fit(planned, members, loss, losses):
  """Returns one ensemble as `Fitted`.

  Args:
    planned: `Planned`.
    members: dict from the name of each network that it may have to its
      `Member`.
    loss: the function that a `FittedEnsembler` gets.
    losses: dict from the name of each network to its loss.
  """
  weights = _checked(
      planned.fitted_by.fit(list(members.values()), loss), planned,
      len(members))
  used = {name: weight for name, weight in zip(members, weights) if weight}
  best = min(members, key=lambda name: losses[name])
  return Fitted(
      planned.architecture._replace(subnetworks=tuple(used)), selection.Fit(
          {"t{}_{}".format(*name): weight for name, weight in used.items()},
          loss(_mean([members[name] for name in used], used.values())),
          len(planned.architecture.subnetworks), "t{}_{}".format(*best),
          losses[best]),
      {"t{}_{}".format(*name): losses[name] for name in members})


def fit(model: model_lib.Model, number: int,
        planned: Iterable[iteration_lib.Planned],
        library: library_lib.Library, broken: Container[str]
       ) -> Dict[str, Fitted]:
  """Fits all ensembles of an iteration that are to be fitted.

  Networks whose variables, logits or loss are not finite are left out, with a
  warning.

  Args:
    model: `Model`.
    number: int, the iteration's.
    planned: `Planned` of each new ensemble.
    library: `Library` with all networks.
    broken: the names of subnetworks with variables that are not finite.

  Returns:
    Dict from the name of each ensemble to its `Fitted`; without those that have
    no network left.

  Raises:
    ValueError: an ensembler of a user returned no weights.
  """
  with _loss_function(model, library) as loss:
    losses = {name: loss(member.logits)
              for name, member in library.members.items()
              if "t{}_{}".format(*name) not in broken and
              _is_finite(member.logits)}
    losses = {name: value for name, value in losses.items()
              if math.isfinite(value)}
    left_out = [name for name in library.members if name not in losses]
    if left_out:
      logging.warning(
          "Iteration %d: fitted ensembles cannot have %s: variables, logits or "
          "the loss are not finite.%s", number,
          ", ".join(f"t{t}_{name}" for t, name in left_out),
          model.not_finite_of_evaluator())
    found = {}
    for one in planned:
      members = {name: library.members[name]
                 for name in (one.architecture.subnetworks
                              if one.architecture else ()) if name in losses}
      if members:
        found[one.name] = _fit(one, members, loss, losses)
    return found


# Evaluating.


class _RecordedBuilder(NamedTuple):
  """What an ensemble asks of a builder whose network has been recorded."""
  name: str


class _LibraryReader:
  """Gives the batches of a library to a graph, each with its own input."""

  def __init__(self, library: library_lib.Library):
    self._batches = library.batches
    self._arrays = {
        (name, head): array
        for name, member in [*library.members.items(), (None, library.previous)]
        if member is not None
        for head, array in (member.logits.items() if isinstance(
            member.logits, dict) else [((), member.logits)])}
    self._paths = list(library.inputs)
    self._number = 0
    self._start = 0
    self.error = None

  def _next(self, *inputs):
    """Returns the logits of the next batch, if it is the one with `inputs`."""
    if self._number >= len(self._batches) or (
        library_lib.digest(inputs) != self._batches[self._number].digest):
      self.error = library_lib.other_data_error(
          "the comparison of the ensembles", self._number)
      raise self.error
    end = self._start + self._batches[self._number].size
    found = [np.array(array[self._start:end])
             for array in self._arrays.values()]
    self._number, self._start = self._number + 1, end
    return found

  def logits(self, task: subnetworks.LearningTask) -> Dict[Any, Any]:
    """Returns dict from a network's name, or None, to its logits."""
    v1 = tf_compat.v1
    given = library_lib.tensors_of(task)
    read = v1.numpy_function(
        self._next, [part for path in self._paths
                     for part in library_lib.parts(given[path])],
        [v1.float32] * len(self._arrays))
    found: Dict[Any, Any] = {}
    for ((name, head), array), tensor in zip(self._arrays.items(), read):
      tensor.set_shape((None,) + array.shape[1:])
      if head == ():
        found[name] = tensor
      else:
        found.setdefault(name, {})[head] = tensor
    return found


def _network(logits, complexity):
  return subnetwork_lib.Subnetwork(
      last_layer=logits, logits=logits, complexity=tf_compat.v1.constant(
          complexity))


def _previous_spec(architecture, library, logits):
  """Returns the `EnsembleSpec` of the previous ensemble, from its logits."""
  if architecture is None:
    return None
  networks = tuple(
      _network(logits[name], library.members[name].complexity)
      for name in architecture.subnetworks)
  weighted = [ensemble_lib.WeightedSubnetwork(subnetwork=network)
              for network in networks]
  ensemble = ensemble_lib.ComplexityRegularized(
      weighted, None, logits[None], networks,
      tf_compat.v1.constant(library.previous.complexity))
  return ensembles.EnsembleSpec(
      "previous", ensemble, architecture,
      tuple(_RecordedBuilder(name) for _, name in architecture.subnetworks),
      networks, step=None, iteration_step=None, summary=None)


class Judged(NamedTuple):
  """Fitted ensembles, and the previous one, as an evaluator sees them.

  Attributes:
    values: dict from an ensemble's name to the evaluator's metric.
    variables: dict from the name of each fitted ensemble to a dict from the
      names of its variables to their values.
  """
  values: Dict[str, float]
  variables: Dict[str, Dict[str, Any]]


def judge(model: model_lib.Model, number: int,
          planned: Sequence[iteration_lib.Planned],
          fits: Mapping[str, Fitted], library: library_lib.Library,
          previous: Optional[architecture_lib.Architecture],
          previous_name: Optional[str]) -> Judged:
  """Evaluates fitted ensembles, without running a network.

  Args:
    model: `Model`, with an evaluator.
    number: int, the iteration's.
    planned: `Planned` of each new ensemble.
    fits: see `fit`.
    library: `Library` with all networks.
    previous: `Architecture` of the previous ensemble, or None.
    previous_name: str, its name, if it is to be evaluated, too; or None.

  Raises:
    ValueError: the evaluator's data differ from the library's.
  """
  evaluator, search = model.rules.evaluator, model.search
  reader = _LibraryReader(library)
  v1 = tf_compat.v1
  with model.task_graph(evaluator.input_fn, "eval") as (_, task, initializers):
    logits = reader.logits(task)
    before = _previous_spec(previous, library, logits)
    specs = {}
    if previous_name is not None:
      specs[previous_name] = ensembles.complete(
          before, task, search.exports, ())
    with v1.variable_scope("adanet"), v1.variable_scope(f"iteration_{number}"):
      for one in planned:
        if one.name in fits:
          specs[one.name] = _ensemble(
              one, fits[one.name].architecture, number, task, library, logits,
              before, search.exports)
    metrics = [
        dict(spec.metrics, adanet_loss=spec.adanet_loss_metric())
        for spec in specs.values()]
    variables = {
        name: [v for v in v1.global_variables()
               if f"/ensemble_{name}/" in v.op.name] for name in fits}
    start = sessions.Initializers(None, (), initializers)
    with sessions.local_session(model.config.session_config) as session:
      start.set_variables(session)
      set_weights(session, [(specs[name].ensemble, found.weights)
                            for name, found in fits.items()])
      with start.started(session):
        try:
          values = evaluator.evaluate(session, metrics)
        except v1.errors.OpError as error:
          if reader.error is not None:
            raise reader.error from error
          raise
      return Judged(
          dict(zip(specs, map(float, values))),
          {name: dict(zip((v.op.name for v in found), session.run(found)))
           for name, found in variables.items()})


def _ensemble(planned, architecture, number, task, library, logits, before,
              exports):
  """Builds a fitted ensemble on recorded logits."""
  new = [name for t, name in architecture.subnetworks if t == number]
  networks = [
      subnetworks.SubnetworkSpec(
          name, _RecordedBuilder(name), _network(
              logits[number, name], library.members[number, name].complexity),
          None, None, None) for name in new]
  kept = () if before is None else tuple(
      i for i, member in enumerate(before.architecture.subnetworks)
      if member in architecture.subnetworks)
  return ensembles.build_ensemble(
      ensembles.Combination(
          architecture.ensemble_candidate_name,
          tuple(network.builder for network in networks), kept),
      planned.fitted_by, planned.name, number,
      architecture.replay_indices[-1], task, networks, before,
      scoped_summary.ScopedSummary("ensemble", planned.name, skip=True),
      exports, frozen=False, training=False)


def set_weights(session: Any,
                fits: Iterable[Tuple[Any, Iterable[float]]]) -> None:
  """Gives fitted ensembles their weights.

  Args:
    session: `Session` on the default graph.
    fits: pairs of what an ensembler built, and the weight of each of its
      subnetworks.
  """
  session.run([
      tf_compat.v1.assign(variable, weight)
      for ensemble, weights in fits
      for weighted, weight in zip(ensemble.weighted_subnetworks, weights)
      for variable in (
          weighted.weight.values() if isinstance(weighted.weight, dict) else
          [weighted.weight])])
