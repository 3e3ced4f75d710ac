# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks networks on the evaluator's data while they train.

For `adanet.EarlyStopping`; `core.early_stopping` has its rule. The graph in
which networks are checked is built once an iteration, and their values get
there in memory. The search selects from the logits of each network's best
check, so no network is run again for that.
"""

import hashlib
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet import typed_json
from adanet.core import early_stopping
from adanet.core import iteration as iteration_lib
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import saveables
from adanet.training import head_loss
from adanet.training import held_out_input
from adanet.training import logits_library
from adanet.training import model as model_lib
from adanet.training import recorded_logits as logits_lib
from adanet.training import sessions
import numpy as np

_Values = Dict[str, np.ndarray]  # By the names of variables.

_AT_BEST = early_stopping.AT_BEST


def _prefix(number, name):
  """Returns how the names of a network's variables begin."""
  return f"adanet/iteration_{number}/subnetwork_{name}/"


class _Assignment:
  """Reads and sets the values of some variables of the default graph."""

  def __init__(self, variables: List[Any]):
    """Adds its ops to the graph."""
    v1 = tf_compat.v1
    self._variables = variables
    with v1.name_scope("adanet_checks/"):
      self._values = {
          v.op.name: v1.placeholder(v.dtype.base_dtype, v.shape)
          for v in variables}
      self._assign = v1.group(*[
          v1.assign(v, self._values[v.op.name]) for v in variables])

  @property
  def variables(self) -> Dict[str, Any]:
    """The variables by name."""
    return dict(zip(self._values, self._variables))

  def _feeds(self, values):
    return {tensor: values[name] for name, tensor in self._values.items()}

  @staticmethod
  def get_all(session: Any, assignments: Mapping[str, "_Assignment"]
             ) -> Dict[str, _Values]:
    """Returns the values of the variables of some networks, in one run."""
    return session.run({name: assignment.variables
                        for name, assignment in assignments.items()})

  @classmethod
  def put_all(cls, session: Any, assignments: Mapping[str, "_Assignment"],
              values: Mapping[str, _Values]) -> None:
    """Sets the values of the variables of some networks, in one run.

    Args:
      session: `Session`.
      assignments: dict from the name of a network, also of other ones.
      values: dict from the name of a network to the values.
    """
    feeds: Dict[Any, np.ndarray] = {}
    for name, of_network in values.items():
      # pylint: disable-next=protected-access
      feeds.update(assignments[name]._feeds(of_network))
    session.run([assignments[name]._assign for name in values], feeds)


class _Networks:
  """The networks of an iteration in a graph of their own, to be checked.

  Attributes:
    variables: dict from the name of each network to the names of its variables.
      An optimizer has none here.
  """

  def __init__(self, model: model_lib.Model, number: int,
               checkpoint: Optional[str]):
    """Builds the graph, and opens a session on it.

    Args:
      model: `Model`, with an evaluator.
      number: int, the iteration's.
      checkpoint: str, the prefix of one that has the iterations before; None
        for none.
    """
    v1 = tf_compat.v1
    self._model = model._replace(applies_head=False)
    with self._model.graph(
        model.rules.evaluator.input_fn, "eval", number) as built:
      networks = {spec.name: spec for spec in built.iteration.subnetworks}
      tensors = logits_lib.components(built.task)
      logits = next(iter(networks.values())).subnetwork.logits
      self._input = held_out_input.HeldOutInput(
          model.rules.evaluator, tensors,
          logits_lib.loss_inputs(built.task, logits),
          sessions.Initializers(None, (), built.initializers),
          model.config.session_config)
      by_name = {
          name: [v for v in v1.global_variables()
                 if v.op.name.startswith(_prefix(number, name)) and
                 v.op.name != spec.step.op.name]
          for name, spec in networks.items()}
      self.variables = {name: [v.op.name for v in variables]
                        for name, variables in by_name.items()}
      self._of_graph: Dict[str, Any] = {
          "variables": logits_library.variables_of(
              (number, spec.builder.name) for spec in networks.values()),
          "graphs": built.iteration.graphs}
      self._assignments = {name: _Assignment(variables)
                           for name, variables in by_name.items()}
      self._tensors = tensors
      self._fetches = {name: logits_lib.network_fetches(spec.subnetwork)
                       for name, spec in networks.items()}
      self._opened = self._model.open_session(
          built, checkpoint, f"adanet/iteration_{number}/")
    self._calls: Dict[Tuple[str, ...], Any] = {}
    self._loss: Optional[head_loss.HeadLoss] = None
    self._sizes: List[int] = []

  def close(self) -> None:
    """Frees the sessions."""
    self._opened.close()
    if self._loss is not None:
      self._loss.close()

  def loss(self, logits: Any) -> float:
    """Returns the head's loss of the logits of all examples."""
    if not head_loss.is_finite(logits):
      return float("nan")
    if self._loss is None:
      self._loss = head_loss.HeadLoss(self._model, logits, self._input.inputs)
    return self._loss(logits)

  def logits(self, values: Mapping[str, _Values]
            ) -> Dict[str, ensemble_lib.Member]:
    """Returns the logits of networks that have some values.

    Args:
      values: dict from the name of each network to the values of its variables.
    """
    with self._opened.entered() as session:
      _Assignment.put_all(session, self._assignments, values)
      call = self._call(session, tuple(values))
      fetched = [call(*batch) for batch in self._input.batches()]
    self._sizes = [logits_lib.num_examples(next(iter(of_batch.values())))
                   for of_batch in fetched]
    return {name: logits_lib.member([of_batch[name] for of_batch in fetched])
            for name in values}

  @property
  def data(self) -> str:
    """A digest of the data that `logits` has read."""
    assert self._input.digests is not None
    return hashlib.sha256("".join(self._input.digests).encode()).hexdigest()

  def _call(self, session, names):
    """Returns the call of some networks, which is compiled once.

    A call of each network by itself would take longer than what small ones
    compute.
    """
    if names not in self._calls:
      self._calls[names] = session.make_callable(
          {name: self._fetches[name] for name in names}, self._tensors)
    return self._calls[names]

  def recorded(self, members: Mapping[logits_lib.Network, ensemble_lib.Member]
              ) -> logits_lib.RecordedLogits:
    """Returns logits that `logits` has returned as a record of them."""
    assert self._input.digests is not None
    return logits_lib.RecordedLogits(
        dict(members), None, self._input.inputs, (*map(
            logits_lib.RecordedBatch, self._sizes, self._input.digests),),
        tuple(self._input.features) if logits_library.is_used(
            self._model.search) else (), **self._of_graph)


class HeldOutChecks:
  """The checks of the networks of an iteration that this process trains.

  Attributes:
    by_network: dict from the name of each network to its `NetworkChecks`.
  """

  def __init__(self, model: model_lib.Model, iteration: iteration_lib.Iteration,
               checkpoint: Optional[str], resumes: bool,
               report: Callable[[str, early_stopping.HeldOutCheck], None]):
    """Completes the default graph, before a saver of all of it is made.

    Args:
      model: `Model`, with an evaluator.
      iteration: `Iteration` of the default graph.
      checkpoint: str, the prefix of the one from which training goes on, or
        None.
      resumes: whether that is one of this iteration.
      report: called with the name of a network, and each of its checks.

    Raises:
      ValueError: a network cannot be put back to the values of a check.
    """
    v1 = tf_compat.v1
    assert model.search.early_stopping is not None
    self._rule = model.search.early_stopping
    self._report = report
    self._iteration = iteration
    self._networks = _Networks(model, iteration.number, checkpoint)
    known = {v.op.name: v for v in v1.global_variables()}
    self._check_can_be_put_back(known)
    self._assignments = {
        name: _Assignment([known[variable] for variable in variables])
        for name, variables in self._networks.variables.items()}
    self.by_network = dict.fromkeys(
        self._networks.variables, early_stopping.NetworkChecks())
    self._best: Dict[str, _Values] = {}  # Of networks that have not ended.
    self._compiled: List[Tuple[str, ...]] = []  # See `_compiled_for`.
    self._members: Dict[str, ensemble_lib.Member] = {}
    if resumes and checkpoint is not None:
      self._restore(checkpoint)
    self._save_with_graph()

  def _check_can_be_put_back(self, known):
    """Checks that the variables are all that a network has learned."""
    for name, variables in self._networks.variables.items():
      for variable in variables:
        if variable not in known:
          raise ValueError(
              f"early_stopping: {name} has the variable {variable!r} where it "
              "is evaluated, and not where it trains: expected the same "
              "variables in all modes")
    v1 = tf_compat.v1
    for saveable in v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS):
      for name in self._networks.variables:
        if saveable.name.startswith(_prefix(self._iteration.number, name)):
          raise ValueError(
              f"early_stopping: {name} keeps {saveable.name!r} in a table or a "
              "resource: expected variables, which can be put back to the "
              "values of a check. Train such a network in a search without "
              "early_stopping")

  # In a checkpoint.

  def _name_of_checks(self, network):
    return _prefix(self._iteration.number, network).rstrip("/") + (
        early_stopping.CHECKS)

  def _save_with_graph(self):
    """Lets each saver of the default graph save all that is known here."""
    v1 = tf_compat.v1
    names, types = [], []
    known = {v.op.name: v.dtype.base_dtype for v in v1.global_variables()}
    self._dtypes = {name: dtype.as_numpy_dtype for name, dtype in known.items()}
    for network, of_network in self._networks.variables.items():
      names.append(self._name_of_checks(network))
      types.append(v1.string)
      names += [name + _AT_BEST for name in of_network]
      types += [known[name] for name in of_network]
    with v1.name_scope("adanet_checks/"), v1.device("/cpu:0"):
      saveables.add(names, v1.numpy_function(self._saved, (), types))

  def _saved(self):
    """Returns the tensors of a checkpoint, in the order of their names."""
    tensors = []
    for network, of_network in self._networks.variables.items():
      tensors.append(np.array(json.dumps(typed_json.to_json(
          early_stopping.NetworkChecks, self.by_network[network])).encode()))
      best = self._best.get(network)
      tensors += [np.zeros([0], self._dtypes[name]) if best is None else
                  best[name] for name in of_network]
    return tensors

  def _restore(self, checkpoint):
    """Reads how far a checkpoint is, if it has been written with checks."""
    reader = checkpoint_file.reader(checkpoint)
    for network, of_network in self._networks.variables.items():
      name = self._name_of_checks(network)
      if not reader.has_tensor(name):
        continue
      checks = self.by_network[network] = typed_json.from_json(
          early_stopping.NetworkChecks, typed_json.loads(
              reader.get_tensor(name).decode()))
      if checks.best is not None and not checks.ended:
        self._best[network] = {name: reader.get_tensor(name + _AT_BEST)
                               for name in of_network}

  # In training.

  def is_due(self, step: int) -> bool:
    """Returns whether a network is checked after one of its steps."""
    return self._rule.is_due(step)

  def check(self, session: Any, steps: Mapping[str, int]) -> Dict[str, str]:
    """Checks networks, unless they have ended or were checked at this step.

    Args:
      session: `Session` in which they train.
      steps: dict from the name of each network to its step.

    Returns:
      Dict from the name of each network that ends with this check to the
      reason.
    """
    steps = {name: step for name, step in steps.items()
             if not self.by_network[name].ended and
             [step] != [c.step for c in self.by_network[name].checks[-1:]]}
    if not steps:
      return {}
    values = _Assignment.get_all(
        session, {name: self._assignments[name]
                  for name in self._compiled_for(steps)})
    members = self._networks.logits(values)
    self._forget_other_data()
    ends = {}
    for name, step in steps.items():
      check = early_stopping.HeldOutCheck(step, (
          self._networks.loss(members[name].logits)
          if _are_finite(values[name]) else float("nan")))
      checks = self.by_network[name] = self.by_network[name].checked(
          check)._replace(data=self._networks.data)
      best = checks.best
      if best == check:
        self._best[name] = values[name]
      if best in (check, None):
        self._members[name] = members[name]
      self._report(name, check)
      reason = self._rule.why_ended(checks)
      if reason:
        ends[name] = reason
    return ends

  def _forget_other_data(self):
    """Forgets checks on other data, which say nothing of one on these."""
    names = [name for name, checks in self.by_network.items()
             if checks.data not in ("", self._networks.data) and
             not checks.ended]
    for name in names:
      self.by_network[name] = early_stopping.NetworkChecks()
      self._best.pop(name, None)
    if names:
      logging.warning(
          "Iteration %d: the evaluator's data are not those of the checks of %s "
          "before. These checks do not count any more.",
          self._iteration.number, ", ".join(names))

  def _compiled_for(self, names):
    """Returns networks to read and to call, with all of the given ones.

    A session compiles both anew for others than before, which takes longer than
    to read and to call up to twice as many.
    """
    for known in self._compiled:
      if len(known) <= 2 * len(names) and set(names) <= set(known):
        return known
    self._compiled.append(tuple(names))
    return self._compiled[-1]

  def put_back(self, session: Any) -> bool:
    """Gives networks that have not ended the values of their best checks.

    Args:
      session: `Session` in which they train.

    Returns:
      Whether there are any.
    """
    if self._best:
      _Assignment.put_all(session, self._assignments, self._best)
    return bool(self._best)

  def end(self, session: Any, reasons: Mapping[str, str]) -> None:
    """Gives networks the values of their best checks, for good.

    Args:
      session: `Session` in which they trained.
      reasons: dict from the name of each network to why it trains no further.
    """
    # Where none is the best, no loss was finite.
    best = {name: self._best.pop(name) for name in reasons
            if name in self._best}
    if best:
      _Assignment.put_all(session, self._assignments, best)
    for name, reason in reasons.items():
      self.by_network[name] = self.by_network[name]._replace(
          ended=reason.rstrip("."))

  def standings(self) -> Dict[str, early_stopping.CheckedLoss]:
    """Returns how each network stands that was checked."""
    return {name: self._rule.standing(checks)
            for name, checks in self.by_network.items() if checks.checks}

  def recorded(self, session: Any) -> logits_lib.RecordedLogits:
    """Returns the logits of all networks, which have ended.

    Args:
      session: `Session` that has their values.
    """
    # Checks from before a restart left no logits here.
    missing = {name: self._assignments[name]
               for name in self.by_network if name not in self._members}
    if missing:
      self._members.update(self._networks.logits(
          _Assignment.get_all(session, missing)))
    number = self._iteration.number
    return self._networks.recorded({
        (number, spec.builder.name): self._members[spec.name]
        for spec in self._iteration.subnetworks})

  def close(self) -> None:
    """Frees the graph in which networks are checked."""
    self._networks.close()


def _are_finite(values):
  """Returns whether no variable of floats has NaN or infinity.

  A relu may hide one from the logits. The search leaves such a network out.
  """
  return all(np.isfinite(value).all() for value in values.values()
             if np.issubdtype(value.dtype, np.floating))
