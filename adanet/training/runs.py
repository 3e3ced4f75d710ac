# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runs of a session that train, each compiled once."""

import functools
from typing import Any, Callable, Collection, Dict, Iterable, Set, Tuple

from adanet import tf_compat
from adanet.training import hooks as hooks_lib
from adanet.training import train_ops
from adanet.training import training_summaries

_Names = Tuple[str, ...]


def _leaves(fetches):
  """Returns the fetches of `Session.run`; its dicts may have any keys."""
  if isinstance(fetches, dict):
    fetches = list(fetches.values())
  if isinstance(fetches, (list, tuple)):
    return [leaf for part in fetches for leaf in _leaves(part)]
  return tf_compat.v1.nest.flatten(fetches, expand_composites=True)


def _fetched_here(element):
  """Returns an op that runs after an element of the graph.

  An op that waits for another one changes an attribute of that. TensorFlow
  warns if the other op ran before, as ops that hooks fetch may have.
  """
  v1 = tf_compat.v1
  outputs = getattr(element, "outputs", [element])
  if not outputs:
    return element
  with v1.colocate_with(outputs[0]):
    return v1.identity(outputs[0])


class Runs:
  """Trains some names in one run, or only looks how far all are.

  Attributes:
    was_new: whether the last run was the first of its kind, which takes longer:
      a session compiles it.
  """

  def __init__(self, ops: train_ops.TrainOps, hooks: hooks_lib.HookRunner,
               summaries: training_summaries.TrainingSummaries,
               input_turn: Any = None):
    """Makes ops, and runs nothing yet.

    A session takes a graph over anew where ops were added since its last run.
    So ops of runs that will come are made now, in the default graph.

    Args:
      ops: `TrainOps`.
      hooks: `HookRunner`.
      summaries: `TrainingSummaries`.
      input_turn: see `Input.turn`.
    """
    self._ops = ops
    self._input_turn = input_turn
    self._hooks = hooks
    self._summaries = summaries
    self._fetches: Dict[_Names, Dict[str, Any]] = {}
    self._calls: Dict[Tuple[_Names, bool], Any] = {}
    self._with_hooks: Set[Tuple[_Names, bool]] = set()
    self._global_steps: Dict[Tuple[_Names, Tuple[str, ...]], Any] = {}
    self.was_new = False
    self._global_step_after((), {})
    self._observed = ops.observe() if ops.observed else []
    all_names = tuple(ops.trainees)
    if ops.fractions is None and all_names:
      self._fetches[all_names] = ops.fetches(all_names)
      if not hooks:
        self._global_step_after(all_names, {})

  def start(self, session: Any) -> Tuple[Dict[str, int], Any, int]:
    """Begins with a session, and forgets the calls of another one.

    Args:
      session: `Session`, with all variables ready.

    Returns:
      The steps of all trainees by name, and the results of `look`.
    """
    self._calls = {}
    self._with_hooks = set()
    steps, looked = session.run((
        {name: t.step for name, t in self._ops.trainees.items()},
        self._look()))
    return {name: int(step) for name, step in steps.items()}, looked[0], int(
        looked[1])

  def _global_step_after(self, names, fetched):
    """Returns the global step for a run that trains some names.

    Hooks that fetch the global step get the one before the step, as always. So
    it is set when all that they fetch is there.
    """
    graph = tf_compat.v1.get_default_graph()
    elements = [graph.as_graph_element(leaf) for leaf in _leaves(fetched)]
    key = names, tuple(element.name for element in elements)
    if key not in self._global_steps:
      with tf_compat.v1.control_dependencies(
          [_fetched_here(element) for element in elements]):
        self._global_steps[key] = self._ops.set_global_step(names)
    return self._global_steps[key]

  def _look(self):
    return self._observed, self._global_step_after(names=(), fetched={})

  def look(self, session: Any) -> Tuple[Any, int]:
    """Returns the steps of the observed subnetworks, and the global step."""
    steps, global_step = session.run(self._look())
    return steps, int(global_step)

  def _call(self, session, names, summaries):
    """Returns the call of a run without hooks, compiled once."""
    key = names, bool(summaries)
    self.was_new = key not in self._calls
    if self.was_new:
      fed = self._feeds(names)
      call = session.make_callable(dict(
          self._fetches[names], summaries=summaries, observed=self._observed,
          global_step=self._global_step_after(names, {})), list(fed))
      self._calls[key] = functools.partial(call, *fed.values())
    return self._calls[key]

  def _feeds(self, names):
    """Returns what is fed in a run: whose batches it takes."""
    if self._input_turn is None:
      return {}
    return {self._input_turn: self._ops.turn_of(names)}

  def train(self, session: Any, names: _Names, global_step: int,
            finished: Callable[[Iterable[Tuple[str, int]]], Collection[str]]
            ) -> Dict[str, Any]:
    """Trains some names once.

    Args:
      session: `Session`.
      names: of the trainees that train.
      global_step: int, before the run.
      finished: function from pairs of a name and its step to the names that
        took their last step.

    Returns:
      Dict with the keys of `TrainOps.fetches`, "summaries", "observed" and
      "global_step". Summaries that are not due are None.
    """
    if names not in self._fetches:
      self._fetches[names] = self._ops.fetches(names)
    is_due = self._ops.trains_ensembles(names) and (
        self._summaries.is_due(global_step))
    summaries = self._summaries.fetches() if is_due else {}
    values = self._run(session, names, summaries, finished)
    return values if is_due else dict(values, summaries=None)

  def _run(self, session, names, summaries, finished):
    """Returns the values of a run with some summaries."""
    if not self._hooks:
      return self._call(session, names, summaries)()

    key = names, bool(summaries)
    self.was_new = key not in self._with_hooks
    self._with_hooks.add(key)
    return self._hooks.run(
        session, dict(self._fetches[names], summaries=summaries,
                      observed=self._observed),
        last=lambda fetched: {
            "global_step": self._global_step_after(names, fetched)},
        finished=lambda values: finished(zip(names, values["steps"])),
        training=names, feeds=self._feeds(names))
