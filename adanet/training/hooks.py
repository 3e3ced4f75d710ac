# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs `SessionRunHook`s around the runs of a session."""

from typing import Any, Callable, Collection, Dict, Mapping, NamedTuple
from typing import Optional, Sequence

from adanet import tf_compat
from adanet.tf_compat import error_text


class Owned(NamedTuple):
  """A hook, and its owner, which ends when it asks for a stop.

  Attributes:
    hook: `SessionRunHook`.
    owner: str, the name of a subnetwork or ensemble; None for a user's hook,
      which stops all of training.
    sees_last_step: whether `after_run` is called for its owner's last step. As
      in AdaNet, that is so for the chief's hooks alone.
  """
  hook: Any
  owner: Optional[str] = None
  sees_last_step: bool = True


class HookRunner:
  """Calls hooks in their order.

  Attributes:
    stops: dict from an owner, or None, to the reason why it stops; it grows.
  """

  def __init__(self, hooks: Sequence[Owned]):
    self._hooks = list(hooks)
    self.stops: Dict[Optional[str], str] = {}

  def __bool__(self):
    """Returns whether a hook is left to ask."""
    return any(owned.owner not in self.stops for owned in self._hooks)

  def _call(self, owned, function, *args):
    """Calls a hook; the end of its own input stops its owner."""
    if owned.owner is None:
      return function(*args)
    try:
      return function(*args)
    except (tf_compat.v1.errors.OutOfRangeError, StopIteration) as error:
      self.stops[owned.owner] = (
          f"its input ended: {error_text.first_line(error)}")
      return None

  def begin(self) -> None:
    """Lets the hooks add to the default graph, before the session is made."""
    for owned in self._hooks:
      self._call(owned, owned.hook.begin)

  def after_create_session(self, session: Any, coordinator: Any) -> None:
    """Tells the hooks that there is a session."""
    for owned in self._hooks:
      self._call(owned, owned.hook.after_create_session, session, coordinator)

  def run(self, session: Any, fetches: Any,
          last: Callable[[Any], Dict[str, Any]] = lambda fetched: {},
          finished: Callable[[Any], Collection[str]] = lambda values: (),
          training: Optional[Collection[str]] = None,
          feeds: Mapping[Any, Any] = {}) -> Any:  # pylint: disable=dangerous-default-value
    """Runs fetches together with the hooks' own, and returns their values.

    Args:
      session: `Session`.
      fetches: see `Session.run`.
      last: function from the hooks' fetches to a dict of further fetches,
        run after them in the same run. Then `fetches` is a dict too, and the
        result has both.
      finished: called with the values after the run, before the hooks see
        their values. It returns the owners that took their last step.
      training: the owners that train in this run; None for all. The hooks of
        other owners are not called. The user's hooks always are.
      feeds: dict from a tensor to its value, beside what hooks feed.
    """
    train = tf_compat.v1.train
    asked = []
    for owned in self._hooks:
      if owned.owner in self.stops or not (
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
        self.stops.setdefault(owned.owner, "a hook asked for it")
    return values

  def end(self, session: Any) -> None:
    """Tells the hooks that training ends well."""
    for owned in self._hooks:
      self._call(owned, owned.hook.end, session)
