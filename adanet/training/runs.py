# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runs of a session that train, and the `SessionRunHook`s around a run."""

import functools
from typing import Any, Callable, Collection, Dict, Iterable, Mapping
from typing import NamedTuple, Optional, Sequence, Set, Tuple

from adanet import tf_compat
from adanet.tf_compat import runtime
from adanet.training import train_ops
from adanet.training import training_summaries

_Names = Tuple[str, ...]


class Owned(NamedTuple):
  """A hook and its owner. The owner stops when the hook requests a stop.

  Attributes:
    hook: `SessionRunHook`.
    owner: str, the name of a subnetwork or ensemble; None for a user's hook,
      which stops all training.
    sees_last_step: whether `after_run` is called for the last step of the
      owner. As in AdaNet, only the chief's hooks see the last step.
  """
  hook: Any
  owner: Optional[str] = None
  sees_last_step: bool = True


class HookRunner:
  """Calls hooks in order.

  Attributes:
    stops: dict from the name of an owner to the reason for the stop.
    is_stop_asked: whether a user's hook, or the loop, stops all training.
  """

  def __init__(self, hooks: Sequence[Owned]):
    self._hooks = list(hooks)
    self.stops: Dict[str, str] = {}
    self.is_stop_asked = False

  def _is_stopped(self, owner):
    return self.is_stop_asked if owner is None else owner in self.stops

  def __bool__(self):
    """Returns whether a hook is left to call."""
    return not all(self._is_stopped(owned.owner) for owned in self._hooks)

  def _call(self, owned, function, *args):
    """Calls a hook; the end of the hook's own input stops the owner."""
    if owned.owner is None:
      return function(*args)
    try:
      return function(*args)
    except (tf_compat.v1.errors.OutOfRangeError, StopIteration) as error:
      self.stops[owned.owner] = (
          f"its input ended: {runtime.error_line(error)}")
      return None

  def begin(self) -> None:
    """Lets the hooks add to the default graph, before the session is made."""
    for owned in self._hooks:
      self._call(owned, owned.hook.begin)

  def after_create_session(self, session: Any, coordinator: Any) -> None:
    """Tells the hooks about a new session."""
    for owned in self._hooks:
      self._call(owned, owned.hook.after_create_session, session, coordinator)

  def run(self, session: Any, fetches: Any,
          last: Callable[[Any], Dict[str, Any]] = lambda fetched: {},
          finished: Callable[[Any], Collection[str]] = lambda values: (),
          training: Optional[Collection[str]] = None,
          feeds: Mapping[Any, Any] = {}) -> Any:  # pylint: disable=dangerous-default-value
    """Runs fetches together with the hooks' fetches, and returns the values.

    Args:
      last: function from the hooks' fetches to a dict of further fetches, which
        run last in the same run. Then `fetches` is a dict too, and the result
        has both.
      finished: called with the values after the run, before the hooks get the
        values. Returns the owners that took the last step.
      training: the owners that train in this run; None for all. The hooks of
        other owners are not called. The user's hooks always are.
      feeds: dict from a tensor to the value, beside the hooks' feeds.
    """
    train = tf_compat.v1.train
    asked = []
    for owned in self._hooks:
      if self._is_stopped(owned.owner) or not (
          training is None or owned.owner is None or owned.owner in training):
        continue
      context = train.SessionRunContext(train.SessionRunArgs(fetches), session)
      wanted = self._call(owned, owned.hook.before_run, context)
      asked.append((owned, context, wanted or train.SessionRunArgs(None)))
    fed = dict(feeds)
    options = None
    for _, _, wanted in asked:
      fed.update(wanted.feed_dict or {})
      if wanted.options is not None:
        options = options or tf_compat.v1.RunOptions()
        options.MergeFrom(wanted.options)
    metadata = tf_compat.v1.RunMetadata() if options is not None else None
    fetched = {i: wanted.fetches for i, (_, _, wanted) in enumerate(asked)
               if wanted.fetches is not None}
    values, results, last_values = session.run(
        (fetches, fetched, last(fetched)), feed_dict=fed or None,
        options=options, run_metadata=metadata)
    if last_values:
      values = dict(values, **last_values)
    at_last_step = finished(values)
    for i, (owned, context, _) in enumerate(asked):
      if owned.owner in at_last_step and not owned.sees_last_step:
        continue
      self._call(owned, owned.hook.after_run, context, train.SessionRunValues(
          results=results.get(i), options=options, run_metadata=metadata))
      if context.stop_requested:
        if owned.owner is None:
          self.is_stop_asked = True
        else:
          self.stops.setdefault(owned.owner, "a hook asked for it")
    return values

  def end(self, session: Any) -> None:
    """Tells the hooks about the end of training without an error."""
    for owned in self._hooks:
      self._call(owned, owned.hook.end, session)


def _leaves(fetches):
  """Returns the fetches of `Session.run`, where dicts may have any keys."""
  if isinstance(fetches, dict):
    fetches = list(fetches.values())
  if isinstance(fetches, (list, tuple)):
    return [leaf for part in fetches for leaf in _leaves(part)]
  return tf_compat.v1.nest.flatten(fetches, expand_composites=True)


def _fetched_here(element):
  """Returns an op that runs after an element of the graph.

  TensorFlow warns about ops that get a control output after a run.
  """
  v1 = tf_compat.v1
  outputs = getattr(element, "outputs", [element])
  if not outputs:
    return element
  with v1.colocate_with(outputs[0]):
    return v1.identity(outputs[0])


class Runs:
  """Trains some names in one run, or only reads all steps.

  Attributes:
    was_new: whether the last run was the first of the same kind, which takes
      longer, because a session compiles the run.
  """

  def __init__(self, ops: train_ops.TrainOps, hooks: HookRunner,
               summaries: training_summaries.TrainingSummaries,
               input_turn: Any = None):
    """Creates ops, and runs nothing yet.

    A session processes a graph anew after ops were added. Therefore, the ops of
    all later runs are created now, in the default graph.
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
    """Begins with a session, and forgets the calls of another session.

    Args:
      session: `Session` with initialized variables.

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

    As always, hooks that fetch the global step get the value before the step.
    The chief therefore sets the step after the hooks' fetches.
    """
    graph = tf_compat.v1.get_default_graph()
    elements = [graph.as_graph_element(leaf) for leaf in _leaves(fetched)]
    key = names, tuple(element.name for element in elements)
    if key not in self._global_steps:
      with tf_compat.v1.control_dependencies(
          [_fetched_here(element) for element in elements]):
        self._global_steps[key] = self._ops.global_step(names)
    return self._global_steps[key]

  def _look(self):
    return self._observed, self._global_step_after(names=(), fetched={})

  def look(self, session: Any) -> Tuple[Any, int]:
    """Returns the steps of the observed subnetworks, and the global step."""
    steps, global_step = session.run(self._look())
    return steps, int(global_step)

  def _call(self, session, names, summaries):
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
    if self._input_turn is None:
      return {}
    return {self._input_turn: self._ops.turn_of(names)}

  def train(self, session: Any, names: _Names, global_step: int,
            finished: Callable[[Iterable[Tuple[str, int]]], Collection[str]]
            ) -> Dict[str, Any]:
    """Trains some names once.

    Args:
      names: the names of the trainees that train.
      global_step: int, before the run.
      finished: function from pairs of a name and a step to the names that took
        the last step.

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
