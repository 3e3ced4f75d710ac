# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predicts with the best ensemble of a checkpoint."""

import contextlib
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet.core import evaluator as evaluator_lib
from adanet.estimator import best_ensemble
from adanet.training import arrays
from adanet.training import input_fn as input_fn_lib
from adanet.training import runs
from adanet.training import sessions


def _wanted(predictions, predict_keys):
  """Returns the predictions with the keys of `predict_keys`."""
  if not predict_keys or not isinstance(predictions, dict):
    return predictions
  wanted = {key: predictions[key] for key in predictions if key in predict_keys}
  if not wanted:
    raise ValueError(
        f"predict_keys must have some of {sorted(predictions, key=str)}, got "
        f"{predict_keys!r}")
  return wanted


def _examples(values):
  """Yields the predictions of each example of a batch."""
  if not isinstance(values, dict):
    yield from values
    return
  for i in range(len(next(iter(values.values())))):
    yield {key: value[i] for key, value in values.items()}


class _Opened(NamedTuple):
  """A session that predicts.

  Attributes:
    session: `OpenSession`.
    runner: `HookRunner`. Its hooks have begun.
    fetches: the predictions, as tensors.
  """
  session: sessions.OpenSession
  runner: runs.HookRunner
  fetches: Any


def _open(best, input_fn, predict_keys, hooks):
  """Returns an `_Opened` on the graph of a `BestEnsemble`."""
  runner = runs.HookRunner([runs.Owned(hook) for hook in hooks])
  with best.setup.graph(input_fn, "infer", best.number) as built:
    runner.begin()
    opened = best.open_session(built)
  with contextlib.ExitStack() as stack:
    stack.callback(opened.close)
    with opened.entered() as session:
      runner.after_create_session(session, opened.coordinator)
      fetches = _wanted(best.spec(built.iteration).predictions, predict_keys)
      if evaluator_lib.is_endless(session):
        logging.warning(
            "predict: the input has no end, so the predictions have none. Take "
            "as many as you need, or leave out repeat() and num_epochs=None.")
    stack.pop_all()
  return _Opened(opened, runner, fetches)


def predict(answer: Callable[[Callable[[best_ensemble.BestEnsemble], _Opened]],
                             _Opened],
            input_fn: Callable[..., Any],
            predict_keys: Any, hooks: Sequence[Any],
            yield_single_examples: bool) -> Iterator[Any]:
  """Yields predictions of the best ensemble; see `adanet.Estimator.predict`.

  No context is entered while the caller holds a prediction.

  Args:
    answer: calls a function with a `BestEnsemble`, and again with a later one
      if the checkpoint was deleted meanwhile. It returns the result.
  """
  opened, runner, fetches = answer(
      lambda best: _open(best, input_fn, predict_keys, hooks))
  with contextlib.closing(opened):
    while not runner.is_stop_asked:
      with opened.entered() as session:
        try:
          values = runner.run(session, fetches)
        except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
          break
      if yield_single_examples:
        yield from _examples(values)
      else:
        yield values
    with opened.entered() as session:
      runner.end(session)


class Predictor:
  """Predicts for arrays in memory, many times.

  A predictor builds its graph and session once, so a call takes about a
  millisecond. Threads may share a predictor. `close`, or the end of a `with`
  block, frees the session. For example::

      with estimator.predictor({"pixels": images[:1]}) as predict:
        for image in images:
          print(predict({"pixels": image[None]})["class_ids"])
  """

  def __init__(self, best: best_ensemble.BestEnsemble, like: Any,
               predict_keys: Any):
    """Builds the graph. See `adanet.Estimator.predictor`."""
    def read(strategy):
      del strategy  # Workers do not divide the input of a call.
      self._placeholders = arrays.Placeholders("features", like)
      return input_fn_lib.Input(self._placeholders.features, None, [])

    with best.setup.graph_on(read, "infer", best.number) as built:
      self._opened = best.open_session(built)
    with self._opened.entered():
      self._fetches = _wanted(
          best.spec(built.iteration).predictions, predict_keys)
    self._is_closed = False

  def __call__(self, features: Any) -> Any:
    """Returns the predictions.

    Args:
      features: array, dict from name to array, or data frame, with the names,
        types and shapes of the sample features; only the number of rows may
        differ.

    Returns:
      Dict from key to an array with a row for each example.

    Raises:
      TypeError: a feature has another type than in the sample.
      ValueError: the predictor is closed, or a name or shape in `features`
        differs from the sample.
    """
    if self._is_closed:
      raise ValueError("This predictor is closed: make another one by "
                       "Estimator.predictor")
    feeds = self._placeholders.feeds(features)
    with self._opened.entered() as session:
      return session.run(self._fetches, feeds)

  def close(self) -> None:
    """Frees the session. Later calls of the predictor raise a ValueError."""
    self._is_closed = True
    self._opened.close()

  def __enter__(self) -> "Predictor":
    return self

  def __exit__(self, *unused_error: Any) -> None:
    self.close()
