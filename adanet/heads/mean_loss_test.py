# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the mean loss does not depend on how examples are cut."""

import contextlib
from typing import Any, Callable, Dict, NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.heads import mean_loss
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies
import numpy as np

v1 = tf_compat.v1

_ROWS = 9
_REGULARIZATION = .25
_CUTS = strategies.lists(
    strategies.integers(0, _ROWS), max_size=5).map(sorted)


class _OwnHead:
  """A user's head, which says nothing of its loss."""
  name = None
  logits_dimension = 2

  def create_estimator_spec(self, features, mode, logits, labels, **_):
    del features
    loss = v1.reduce_mean(v1.squared_difference(logits, labels))
    return heads.HeadSpec(mode, {"logits": logits}, loss, eval_metric_ops={})


class _Changed(heads.RegressionHead):
  """A head that changes the loss of ours."""

  def build(self, *args, **kwargs):
    spec = super().build(*args, **kwargs)
    return spec._replace(loss=2. * spec.loss + .5)


class _Summing(heads.RegressionHead):
  """A head that says only by `loss_reduction` what its loss is."""

  def build(self, *args, **kwargs):
    return super().build(*args, **kwargs)._replace(loss_terms=None)


def _regression(**kwargs):
  return lambda: heads.RegressionHead(2, "w", **kwargs)


def _two_heads():
  return heads.MultiHead([
      heads.RegressionHead(
          2, "w", loss_reduction="weighted_mean", name="real"),
      heads.MultiClassHead(
          3, "w", loss_reduction="weighted_sum_by_nonzero_weights",
          name="class"),
      heads.BinaryClassHead(name="binary"),
  ], [.5, 2., 1.])


def _of_estimator(make):
  def call():
    if not hasattr(v1, "estimator"):
      raise absltest.SkipTest("this TensorFlow has no tf.estimator")
    return make(tf_compat.v2.estimator)

  return call


class _OfContrib:
  """A head as those of tf.contrib, whose reduction is private."""
  name = None
  logits_dimension = 2

  def __init__(self, reduction):
    self._head = heads.RegressionHead(2, "w", loss_reduction=reduction)
    self._loss_reduction = reduction
    self._weight_column = "w"

  def create_estimator_spec(self, **kwargs):
    return self._head.create_estimator_spec(**kwargs)._replace(loss_terms=None)


class _SeveralOfContrib(_OfContrib):
  """Several heads of tf.contrib in one."""

  def __init__(self, reduction):
    super().__init__(reduction)
    self._heads = [_OfContrib(reduction)]
    del self._loss_reduction


_HEADS = {
    "regularized": _regression(),
    "of_contrib": lambda: _OfContrib("weighted_mean"),
    "several_regularized": _two_heads,
    "own": _OwnHead,
    "changed": lambda: _Changed(2, "w", loss_reduction="weighted_mean"),
    "of_estimator": _of_estimator(lambda m: m.RegressionHead(2, "w")),
    "several_of_estimator": _of_estimator(lambda m: m.MultiHead([
        m.RegressionHead(2, "w", name="real"),
        m.MultiClassHead(3, name="class"), m.BinaryClassHead(name="binary")])),
    "one_of_estimator": _of_estimator(lambda m: heads.MultiHead([
        m.RegressionHead(2, "w", name="real"),
        heads.MultiClassHead(
            3, "w", loss_reduction="weighted_mean", name="class"),
        m.BinaryClassHead(name="binary")])),
    "several_of_contrib": lambda: _SeveralOfContrib("weighted_mean"),
}
_SUMS = {
    "sum": _regression(loss_reduction="sum"),
    "says_so": lambda: _Summing(2, loss_reduction="weighted_sum"),
    "of_estimator": _of_estimator(
        lambda m: m.RegressionHead(2, "w", loss_reduction="sum")),
    "several_of_contrib": lambda: _SeveralOfContrib("weighted_sum"),
}


def _examples():
  """Returns logits, labels and weights of each kind of head."""
  random = np.random.RandomState(3)
  normal = lambda *shape: random.randn(_ROWS, *shape).astype(np.float32)
  return {
      "w": np.float32([3., 0., 0., 1., 0., 2., .5, 5., 1.]).reshape(-1, 1),
      "logits": {"real": normal(2), "class": normal(3), "binary": normal(1)},
      "labels": {"real": normal(2), "class": random.randint(0, 3, [_ROWS, 1]),
                 "binary": random.randint(0, 2, [_ROWS, 1])},
  }


class _Graph(NamedTuple):
  """A head in a graph, and what it is asked."""
  session: Any
  batches: Callable[[np.ndarray], Any]
  loss: Any
  metrics: Dict[str, Any]

  def of_all(self):
    """Returns the loss of all examples in one batch."""
    return self.session.run(self.loss, self.batches(np.arange(_ROWS)))

  def after(self, batches):
    """Returns all metrics after some batches, each an array of rows."""
    self.session.run(v1.local_variables_initializer())
    updates = {key: update for key, (_, update) in self.metrics.items()}
    for rows in batches:
      self.session.run(updates, self.batches(rows))
    return self.session.run({
        key: value for key, (value, _) in self.metrics.items()})


@contextlib.contextmanager
def _graph(head, regularized=False):
  """Yields the `_Graph` of a head."""
  examples = _examples()
  kind = {1: "binary", 2: "real", 3: "class"}.get(head.logits_dimension)
  with v1.Graph().as_default(), v1.Session() as session:
    put = lambda array: v1.placeholder(array.dtype, [None, array.shape[1]])
    placeholders = v1.nest.map_structure(put, examples)
    pick = lambda name: (placeholders[name] if kind is None else
                         placeholders[name][kind])
    features = {"w": placeholders["w"]}
    more = {}
    if regularized:
      more["regularization_losses"] = [v1.constant(_REGULARIZATION)]
    spec = head.create_estimator_spec(
        features=features, mode="eval", logits=pick("logits"),
        labels=pick("labels"), **more)
    metrics = {
        key: tf_compat.metric_op(value)
        for key, value in spec.eval_metric_ops.items()}
    metrics["loss"] = mean_loss.metric(mean_loss.terms_of(
        head, spec, features, pick("logits")))
    session.run(v1.tables_initializer())
    feeds = list(zip(v1.nest.flatten(placeholders), v1.nest.flatten(examples)))
    yield _Graph(
        session, lambda rows: {placeholder: array[rows]
                               for placeholder, array in feeds},
        spec.loss, metrics)


class MeanLossTest(parameterized.TestCase):

  @parameterized.parameters(level.first(list(_HEADS)))
  def test_cuts_and_order_do_not_matter(self, name):
    with _graph(_HEADS[name](), regularized="regularized" in name) as graph:
      expected = graph.of_all()
      metrics = graph.after([np.arange(_ROWS)])
      self.assertEqual(np.float32(expected), metrics["loss"])

      @hypothesis.settings(max_examples=6)
      @hypothesis.given(_CUTS, strategies.permutations(range(_ROWS)))
      def check(cuts, order):
        actual = graph.after(np.split(np.array(order), cuts))
        for key, value in metrics.items():
          if not name.endswith("_of_estimator") or (
              not key.startswith("loss/")):  # Those are theirs.
            np.testing.assert_allclose(
                value, actual[key], rtol=1e-5, atol=1e-6, err_msg=key)

      check()

  @parameterized.parameters(level.first(list(_SUMS)))
  def test_a_sum_stays_the_mean_of_sums(self, name):
    with _graph(_SUMS[name]()) as graph:
      batches = np.split(np.arange(_ROWS), [4])
      each = [graph.session.run(graph.loss, graph.batches(rows))
              for rows in batches]
      self.assertAlmostEqual(
          np.mean(each), graph.after(batches)["loss"], places=4)

  def test_batches_of_one_size_give_the_mean_to_the_last_digit(self):
    with v1.Graph().as_default(), v1.Session() as session:
      loss = v1.placeholder(v1.float32, [])
      metrics = [mean_loss.metric([mean_loss.LossTerm(loss, weight)])
                 for weight in (1., 43.)] + [v1.metrics.mean(loss)]
      session.run(v1.local_variables_initializer())
      for value in np.random.RandomState(1).uniform(size=20):
        updated = session.run([update for _, update in metrics], {loss: value})
      values = session.run([value for value, _ in metrics])
      self.assertLen(set(values), 1)
      self.assertEqual(values, updated)

  def test_no_examples_add_nothing(self):
    with _graph(_OwnHead()) as graph:
      nothing, rows = np.arange(0), np.arange(_ROWS)
      self.assertTrue(np.isnan(graph.session.run(
          graph.loss, graph.batches(nothing))))
      actual = graph.after([nothing, rows[:4], nothing, rows[4:]])
      self.assertAlmostEqual(graph.of_all(), actual["loss"], places=5)
      self.assertEqual(0., graph.after([nothing])["loss"])


if __name__ == "__main__":
  absltest.main()
