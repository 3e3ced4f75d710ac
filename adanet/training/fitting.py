# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fits ensembles to recorded logits, and evaluates the ensembles on the logits.

No network runs again. The evaluator reads the input again, for labels and for a
`metric_fn` of features, and takes the logits of the same batch from the record.
"""

import contextlib
import math
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Tuple

from adanet import log as logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import ensembles
from adanet.core import graph_parts
from adanet.core import iteration as iteration_lib
from adanet.core import scoped_summary
from adanet.core import scopes
from adanet.core import selection
from adanet.core import subnetworks
from adanet.training import held_out_pass
from adanet.training import recorded_logits as logits_lib
from adanet.training import sessions
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
import numpy as np


class Fitted(NamedTuple):
  """A fitted ensemble.

  Attributes:
    architecture: `Architecture` of the members, without a global step.
    fit: `Fit`.
    network_losses: dict from the name of each possible member, such as
      "t0_linear", to the head's loss of the network alone.
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
  slots = {"features": {}, "labels": None}
  for path, tensor in tensors.items():
    inside = slots
    for i, key in enumerate(path[:-1]):
      inner = inside.get(key)
      inside[key] = inside = {} if inner is None else inner
    inside[path[-1]] = tensor
  return slots["features"], slots["labels"]


def is_finite(logits: Any) -> bool:
  """Returns whether an array, or each array of a dict, is finite."""
  return all(np.isfinite(array).all()
             for array in logits_lib.by_head(logits).values())


class HeadLoss:
  """The function from logits to the head's loss, in a separate session."""

  def __init__(self, setup: setup_lib.SearchSetup, like: Any,
               inputs: Mapping[logits_lib.InputPath, Any]):
    """Builds the graph.

    Args:
      like: logits of a network, for the shape.
      inputs: the other arguments of the head; see `RecordedLogits`.
    """
    v1 = tf_compat.v1
    with scopes.new_graph(None).as_default():
      logits = {head: v1.placeholder(v1.float32, (None,) + array.shape[1:])
                for head, array in logits_lib.by_head(like).items()}
      # Constants, so that TensorFlow computes ops that depend on nothing else,
      # such as checks of labels, only once.
      features, labels = _put({
          path: v1.convert_to_tensor(value) for path, value in inputs.items()})
      loss = subnetworks.LearningTask(
          setup.search.head, None, features, labels, "train").apply_head(
              logits_lib.of_heads(logits), "a fitted ensemble").loss
      self._heads = list(logits)
      self._session = sessions.local_session(setup.config.session_config)
      self._session.run(sessions.local_init_op(()))
      self._run = self._session.make_callable(loss, list(logits.values()))

  def __call__(self, logits: Any) -> float:
    """Returns the loss of the logits of all examples."""
    arrays = logits_lib.by_head(logits)
    return float(self._run(*[arrays[head] for head in self._heads]))

  def close(self) -> None:
    """Frees the session."""
    self._session.close()


def _mean(members, weights):
  """Returns the weighted sum of the members' logits."""
  logits = [logits_lib.by_head(member.logits) for member in members]
  totals = {head: np.zeros(array.shape, np.float32)
            for head, array in logits[0].items()}
  for by_head, weight in zip(logits, weights):
    for head, total in totals.items():
      total += np.float32(weight) * by_head[head]
  return logits_lib.of_heads(totals)


def _checked(weights, name, ensembler, num_members):
  """Returns the weights of a user's ensembler, as a tuple."""
  try:
    numbers = tuple(float(weight) for weight in weights)
  except (TypeError, ValueError):
    numbers = ()
  if len(numbers) != num_members or not any(numbers) or not all(
      map(math.isfinite, numbers)):
    raise ValueError(
        f"ensemble {name!r}: fit of the ensembler "
        f"{ensembler.name!r} returned {weights!r}: expected a finite "
        f"number for each of the {num_members} members, not all of them 0")
  return numbers


def _fit(name, architecture, ensembler, members, loss, losses):
  """Returns an ensemble as `Fitted`.

  Args:
    name: str, the name of the ensemble.
    architecture: `Architecture` with all possible members.
    members: dict from the name of each possible member to the `Member`.
    loss: the function that a `FittedEnsembler` gets.
    losses: dict from the name of each network to the loss.
  """
  weights = _checked(ensembler.fit(list(members.values()), loss), name,
                     ensembler, len(members))
  used = {key: weight for key, weight in zip(members, weights) if weight}
  best = min(members, key=lambda key: losses[key])
  return Fitted(
      architecture._replace(subnetworks=tuple(used)), selection.Fit(
          {"t{}_{}".format(*key): weight for key, weight in used.items()},
          loss(_mean([members[key] for key in used], used.values())),
          len(architecture.subnetworks), "t{}_{}".format(*best),
          losses[best]),
      {"t{}_{}".format(*key): losses[key] for key in members})


def _ensemblers(search):
  return {ensembler.name: ensembler for ensembler in search.ensemblers}


def fit(setup: setup_lib.SearchSetup, candidates: trained_lib.Candidates,
        logits: logits_lib.RecordedLogits) -> Dict[str, Fitted]:
  """Fits all ensembles of an iteration with fitted ensemblers.

  Networks with variables, logits or a loss that are not finite are left out,
  with a warning.

  Args:
    logits: `RecordedLogits` of all networks.

  Returns:
    Dict from the name of each ensemble to the `Fitted`; without ensembles that
    have no network left.

  Raises:
    ValueError: an ensembler of a user returned no weights.
  """
  ensemblers = _ensemblers(setup.search)
  networks = {name: member for name, member in logits.members.items()
              if name != logits_lib.PREVIOUS_ENSEMBLE}
  like = next(iter(networks.values())).logits
  with contextlib.closing(
      HeadLoss(setup, like, logits.inputs)) as loss:
    losses = {name: loss(member.logits) for name, member in networks.items()
              if "t{}_{}".format(*name) not in candidates.not_finite and
              is_finite(member.logits)}
    losses = {name: value for name, value in losses.items()
              if math.isfinite(value)}
    left_out = [name for name in networks if name not in losses]
    if left_out:
      logging.warning(
          "Iteration %d: fitted ensembles cannot have %s: variables, logits or "
          "the loss are not finite.%s", candidates.number,
          ", ".join(f"t{t}_{name}" for t, name in left_out),
          setup.not_finite_of_evaluator())
    fitted = {}
    for name in candidates.fitted:
      architecture = candidates.architectures[name]
      members = {key: networks[key] for key in architecture.subnetworks
                 if key in losses}
      if members:
        fitted[name] = _fit(
            name, architecture, ensemblers[architecture.ensembler_name],
            members, loss, losses)
    return fitted


# Evaluating.


class _RecordedBuilder(NamedTuple):
  """The builder, for an ensemble, of a recorded network."""
  name: str


class _LogitsReader:
  """Gives the batches of recorded logits to a graph, with their inputs."""

  def __init__(self, recorded: logits_lib.RecordedLogits):
    self._batches = recorded.batches
    self._networks = {name: logits_lib.by_head(member.logits)
                      for name, member in recorded.members.items()}
    self._arrays = [array for by_head in self._networks.values()
                    for array in by_head.values()]
    self._paths = list(recorded.inputs)
    self._number = 0
    self._start = 0
    self.error = None

  def _next(self, *inputs):
    """Returns the logits of the next batch, if it is the one with `inputs`."""
    if self._number >= len(self._batches) or (
        held_out_pass.digest(inputs) != self._batches[self._number].digest):
      self.error = logits_lib.other_data_error(
          "the comparison of the ensembles", self._number)
      raise self.error
    end = self._start + self._batches[self._number].size
    arrays = [np.array(array[self._start:end]) for array in self._arrays]
    self._number, self._start = self._number + 1, end
    return arrays

  def logits(self, task: subnetworks.LearningTask
            ) -> Dict[logits_lib.Network, Any]:
    """Returns dict from a network's name to its logits."""
    v1 = tf_compat.v1
    tensors = held_out_pass.tensors_of(task)
    read = v1.numpy_function(
        self._next, [tensors[path] for path in self._paths],
        [v1.float32] * len(self._arrays))
    for tensor, array in zip(read, self._arrays):
      tensor.set_shape((None,) + array.shape[1:])
    left = iter(read)
    return {name: logits_lib.of_heads({head: next(left) for head in by_head})
            for name, by_head in self._networks.items()}


def _network(logits, complexity):
  return subnetwork_lib.Subnetwork(
      last_layer=logits, logits=logits, complexity=tf_compat.v1.constant(
          complexity))


def _previous_spec(setup, candidates, recorded, task, logits):
  """Returns the `EnsembleSpec` of the previous ensemble, from logits."""
  v1 = tf_compat.v1
  if candidates.previous is None:
    return None
  architecture = candidates.architectures[candidates.previous]
  networks = tuple(
      _network(logits[name], recorded.members[name].complexity)
      for name in architecture.subnetworks)
  spec = graph_parts.of_members(
      candidates.previous, architecture,
      [_RecordedBuilder(name) for _, name in architecture.subnetworks],
      networks)
  ensemble = recorded.members.get(logits_lib.PREVIOUS_ENSEMBLE)
  if ensemble is not None:
    return spec._replace(ensemble=spec.ensemble._replace(
        logits=logits[logits_lib.PREVIOUS_ENSEMBLE],
        complexity_regularization=v1.constant(ensemble.complexity)))
  # All are fitted: it is the weighted sum of its members.
  latest = graph_parts.latest(
      setup.history(candidates.number), list(_ensemblers(setup.search)))
  assert latest is not None
  with v1.variable_scope(f"iteration_{latest.number}"):
    built = _built(setup.search, latest.name, architecture, latest.number, task,
                   (), spec)
  return spec._replace(ensemble=built.ensemble)


def _stored_variables(spec, checkpoint):
  """Returns pairs of a variable of an ensemble and the stored value."""
  own = [v for v in tf_compat.v1.global_variables()
         if f"/ensemble_{spec.name}/" in v.op.name]
  values = checkpoints.values(checkpoint, [v.op.name for v in own])
  return [(v, values[v.op.name]) for v in own]


class Fits(NamedTuple):
  """The fitted candidates of an iteration, for an evaluator.

  Attributes:
    fitted: dict from the name of each fitted ensemble to the `Fitted`.
    values: dict from the name of an ensemble to the evaluator's metric. If no
      other ensembles train, the previous ensemble has a value, too.
    variables: dict from the name of each fitted ensemble to a dict from the
      names of variables to values.
  """
  fitted: Dict[str, Fitted] = {}
  values: Dict[str, float] = {}
  variables: Dict[str, Dict[str, Any]] = {}


def fits(setup: setup_lib.SearchSetup, candidates: trained_lib.Candidates,
         logits: logits_lib.RecordedLogits) -> Fits:
  """Fits and evaluates the fitted ensembles, without running a network.

  Args:
    setup: `SearchSetup`, with an evaluator.
    logits: `RecordedLogits` of all networks.

  Raises:
    ValueError: the evaluator's data differ from the recorded data; or see
      `fit`.
  """
  fitted = fit(setup, candidates, logits)
  evaluator, search = setup.rules.evaluator, setup.search
  number, previous = candidates.number, candidates.previous
  reader = _LogitsReader(logits)
  v1 = tf_compat.v1
  with setup.task_graph(evaluator.input_fn, "eval") as (_, task, batch):
    tensors = reader.logits(task)
    with v1.variable_scope("adanet"):
      before = _previous_spec(setup, candidates, logits, task, tensors)
    stored = [] if before is None else _stored_variables(
        before, candidates.checkpoint)
    specs = {}
    # Beside ensembles that train, it is evaluated as they are.
    if previous is not None and all(
        map(iteration_lib.is_fitted, search.ensemblers)):
      specs[previous] = ensembles.complete(before, task, search.exports, ())
    with v1.variable_scope("adanet"), v1.variable_scope(f"iteration_{number}"):
      for name, ensemble in fitted.items():
        specs[name] = _ensemble(
            name, ensemble.architecture, search, number, task, logits, tensors,
            before)
    metrics = [
        dict(spec.metrics, adanet_loss=spec.adanet_loss_metric())
        for spec in specs.values()]
    variables = {
        name: [v for v in v1.global_variables()
               if f"/ensemble_{name}/" in v.op.name] for name in fitted}
    start = sessions.Initializers(None, (), batch.initializers)
    with sessions.local_session(setup.config.session_config) as session:
      start.set_variables(session)
      session.run([v1.assign(*pair) for pair in stored])
      set_weights(session, [(specs[name].ensemble, ensemble.weights)
                            for name, ensemble in fitted.items()])
      with start.started(session):
        try:
          # Nothing would ever end the input.
          values = evaluator.evaluate(session, metrics) if metrics else ()
        except v1.errors.OpError as error:
          if reader.error is not None:
            raise reader.error from error
          raise
      return Fits(
          fitted, dict(zip(specs, map(float, values))),
          {name: dict(zip((v.op.name for v in own), session.run(own)))
           for name, own in variables.items()})


def _ensemble(name, architecture, search, number, task, logits, tensors,
              before):
  """Builds a fitted ensemble on recorded logits."""
  new = architecture.subnetworks_of(number)
  networks = [
      subnetworks.SubnetworkSpec(
          builder, _RecordedBuilder(builder), _network(
              tensors[number, builder],
              logits.members[number, builder].complexity),
          None, None, None) for builder in new]
  return _built(search, name, architecture, number, task, networks, before)


def _built(search, name, architecture, number, task, networks, before):
  """Builds a fitted ensemble of the networks of `before` and of new ones."""
  kept = () if before is None else tuple(
      i for i, member in enumerate(before.architecture.subnetworks)
      if member in architecture.subnetworks)
  return ensembles.build_ensemble(
      ensembles.Combination(
          architecture.ensemble_candidate_name,
          tuple(network.builder for network in networks), kept),
      _ensemblers(search)[architecture.ensembler_name], name, number,
      architecture.replay_indices[-1], task, networks, before,
      scoped_summary.ScopedSummary("ensemble", name, skip=True), search.exports,
      frozen=False, training=False)


def set_weights(session: Any,
                fits: Iterable[Tuple[Any, Iterable[float]]]) -> None:
  """Sets the weights of fitted ensembles.

  Args:
    fits: pairs of an ensembler's ensemble, and the weight of each subnetwork.
  """
  session.run([
      tf_compat.v1.assign(variable, weight)
      for ensemble, weights in fits
      for weighted, weight in zip(ensemble.weighted_subnetworks, weights)
      for variable in logits_lib.by_head(weighted.weight).values()])
