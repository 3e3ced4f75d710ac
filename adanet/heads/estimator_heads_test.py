# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that heads give the same results as the heads of `tf.estimator`.

`estimator_heads.json` has the results of `tf.estimator`, with which the heads
are compared where TensorFlow has no `tf.estimator`. Where TensorFlow has it, a
case that is not in the file fails, and prints the line to add.
"""

import json
import re
from typing import Any, Callable, Dict, NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np
import runfiles

v1 = tf_compat.v1

_GOLDEN = "adanet/adanet/heads/testdata/estimator_heads.json"
_MODES = ("train", "eval", "infer")
_VOCABULARY = ("cat", "dog", "fox", "yak", "gnu")


class _Task(NamedTuple):
  """The logits of one head, and the labels that it takes."""
  logits_dimension: int = 1
  # "real", "class", "name", "multi_hot", "sparse_class" or "sparse_name".
  labels: str = "real"
  inner_shape: tuple = ()  # Of an example.
  flat: bool = False  # Whether the labels lack the last dimension, of size 1.

  @property
  def n_classes(self):
    return max(2, self.logits_dimension)


class _Case(NamedTuple):
  """A head, and its arguments."""
  name: str
  # From `adanet.heads` or `tf.estimator` to a head.
  make: Callable[[Any], Any]
  tasks: Dict[str, _Task]  # By the head's name; "" if it has none.
  weights_dimension: int = 0  # 0 if there are no weights.
  regularized: bool = False
  joined_logits: bool = False  # Whether a multi-head gets one tensor of logits.


def _absolute_loss(labels, logits):
  return v1.abs(labels - logits)


def _scaled_loss(labels, logits, features):
  labels = v1.cast(labels, v1.float32)
  losses = v1.squared_difference(labels, logits) * features["scale"]
  return v1.reduce_mean(losses, axis=-1, keepdims=True)


def _doubled_weights():
  return v1.feature_column.numeric_column(
      "weights", normalizer_fn=lambda weights: 2. * weights)


def _case(name, make, task, **kwargs):
  return _Case(name, make, {"": task}, **kwargs)


_THRESHOLDS = (.25, .5, .9)
_CLASSES = _Task(4, "class")
_LABELS = _Task(3, "multi_hot")

_CASES = (
    _case("regression", lambda m: m.RegressionHead(), _Task()),
    _case("regression, flat labels", lambda m: m.RegressionHead(),
          _Task(flat=True)),
    _case("regression, 3 labels, named, regularized",
          lambda m: m.RegressionHead(3, name="r"), _Task(3), regularized=True),
    _case("regression, weights, sum",
          lambda m: m.RegressionHead(2, "weights", loss_reduction="sum"),
          _Task(2), weights_dimension=1),
    _case("regression, a weight for each logit",
          lambda m: m.RegressionHead(2, "weights"), _Task(2),
          weights_dimension=2),
    _case("regression, numeric column, loss_fn, inverse_link_fn",
          lambda m: m.RegressionHead(
              1, _doubled_weights(), loss_fn=_absolute_loss,
              inverse_link_fn=v1.exp),
          _Task(), weights_dimension=1),
    _case("regression, sequences",
          lambda m: m.RegressionHead(2, "weights"),
          _Task(2, inner_shape=(3,)), weights_dimension=1),
    _case("binary", lambda m: m.BinaryClassHead(), _Task(1, "class")),
    _case("binary, flat labels, thresholds, named",
          lambda m: m.BinaryClassHead(thresholds=_THRESHOLDS, name="b"),
          _Task(1, "class", flat=True)),
    _case("binary, vocabulary, weights, sum, regularized",
          lambda m: m.BinaryClassHead(
              "weights", _THRESHOLDS, _VOCABULARY[:2], "sum"),
          _Task(1, "name"), weights_dimension=1, regularized=True),
    _case("binary, loss_fn, sequences",
          lambda m: m.BinaryClassHead("weights", loss_fn=_scaled_loss),
          _Task(1, "class", inner_shape=(3,)), weights_dimension=1),
    _case("classes", lambda m: m.MultiClassHead(4), _CLASSES),
    _case("classes, vocabulary, weights, named, regularized",
          lambda m: m.MultiClassHead(
              5, "weights", list(_VOCABULARY), name="c"),
          _Task(5, "name", flat=True), weights_dimension=1, regularized=True),
    _case("classes, weights, sum, sequences",
          lambda m: m.MultiClassHead(4, "weights", loss_reduction="sum"),
          _Task(4, "class", inner_shape=(3,)), weights_dimension=1),
    _case("classes, loss_fn",
          lambda m: m.MultiClassHead(4, loss_fn=_scaled_loss), _CLASSES),
    _case("labels", lambda m: m.MultiLabelHead(3), _LABELS),
    _case("labels, weights, thresholds, by class, named, regularized",
          lambda m: m.MultiLabelHead(
              3, "weights", _THRESHOLDS,
              classes_for_class_based_metrics=[0, 2], name="l"),
          _LABELS, weights_dimension=1, regularized=True),
    _case("labels, sparse ids, sum",
          lambda m: m.MultiLabelHead(3, loss_reduction="sum"),
          _Task(3, "sparse_class")),
    _case("labels, sparse names, by class, weights",
          lambda m: m.MultiLabelHead(
              5, "weights", label_vocabulary=_VOCABULARY,
              classes_for_class_based_metrics=["fox"]),
          _Task(5, "sparse_name"), weights_dimension=1),
    _case("labels, loss_fn, sequences",
          lambda m: m.MultiLabelHead(3, loss_fn=_scaled_loss),
          _Task(3, "multi_hot", inner_shape=(3,))),
    _Case("several heads, weights of heads and examples, regularized",
         lambda m: m.MultiHead([
             m.BinaryClassHead("weights", name="b"),
             m.RegressionHead(2, name="r"),
             m.MultiClassHead(4, name="c"),
         ], [.5, 2., 1.]),
         {"b": _Task(1, "class"), "r": _Task(2), "c": _CLASSES},
         weights_dimension=1, regularized=True),
    _Case("two heads, one tensor of logits",
         lambda m: m.MultiHead([
             m.MultiLabelHead(3, name="l"),
             m.RegressionHead(1, name="r", inverse_link_fn=v1.exp),
         ]),
         {"l": _LABELS, "r": _Task(1)}, joined_logits=True),
)

_LABEL_DTYPES = {"real": "float32", "name": "string", "sparse_name": "string"}


class _Inputs:
  """The placeholders of a case, in the default graph, and batches for them.

  Attributes:
    features: dict from str to tensor.
    logits: an argument of `create_estimator_spec`; also `labels`.
    regularization_losses: list of scalars, or None.
  """

  def __init__(self, case):
    self._case = case
    self._logits, self._labels = {}, {}
    for name, task in case.tasks.items():
      self._logits[name] = v1.placeholder(
          v1.float32, (None,) + task.inner_shape + (task.logits_dimension,))
      dtype = _LABEL_DTYPES.get(task.labels, "int64")
      if task.labels.startswith("sparse"):
        self._labels[name] = v1.sparse_placeholder(dtype)
      else:
        self._labels[name] = v1.placeholder(
            dtype, (None,) + self._label_shape(task))
    self.features = {"scale": v1.constant(3.)}
    if case.weights_dimension:
      self.features["weights"] = v1.placeholder(
          v1.float32, (None,) + self._weight_shape())
    if "" in case.tasks:
      self.logits, self.labels = self._logits[""], self._labels[""]
    else:
      self.logits, self.labels = self._logits, self._labels
    if case.joined_logits:
      self.logits = v1.concat(list(self._logits.values()), axis=-1)
    self.regularization_losses = (
        [v1.constant(.5), v1.constant(.25)] if case.regularized else None)

  def _weight_shape(self):
    task = next(iter(self._case.tasks.values()))
    return task.inner_shape + (self._case.weights_dimension,)

  def _label_shape(self, task):
    if task.flat:
      return task.inner_shape
    wide = task.labels in ("real", "multi_hot")
    return task.inner_shape + (task.logits_dimension if wide else 1,)

  def batch(self, seed, labels="any", weights="any", scale=2.):
    """Returns a batch of 5 examples, as a feed_dict.

    Args:
      seed: int.
      labels: "any", "lowest" or "highest"; the latter for one class.
      weights: "any" or "zero".
      scale: float, the standard deviation of the logits.
    """
    random = np.random.RandomState(seed)
    feeds = {}
    for name, task in self._case.tasks.items():
      logits = self._logits[name]
      feeds[logits] = scale * random.randn(5, *logits.shape.as_list()[1:])
      feeds[self._labels[name]] = self._draw_labels(random, task, labels)
    if self._case.weights_dimension:
      drawn = random.choice([0., 1., .3, 2.5], (5,) + self._weight_shape())
      feeds[self.features["weights"]] = drawn * (weights != "zero")
    return feeds

  def _draw_labels(self, random, task, kind):
    """Returns the labels of a batch."""
    shape = (5,) + self._label_shape(task)
    if task.labels == "real":
      return random.randn(*shape)
    highest = 1 if task.labels == "multi_hot" else task.n_classes - 1
    if task.labels.startswith("sparse"):
      shape = (5,)  # One or no class in each of 5 rows, and a second in one.
    drawn = {"any": random.randint(0, highest + 1, shape),
             "lowest": np.zeros(shape, int),
             "highest": np.full(shape, highest)}[kind]
    values = np.array(_VOCABULARY)[drawn] if "name" in task.labels else drawn
    if not task.labels.startswith("sparse"):
      return values
    indices = [[0, 0], [1, 0], [3, 0], [4, 0], [4, 1]]
    return v1.SparseTensorValue(indices, values, [5, 2])


def _spec_of(head, inputs, mode):
  """Returns the spec of a head."""
  return head.create_estimator_spec(
      features=inputs.features, mode=mode, logits=inputs.logits,
      labels=None if mode == "infer" else inputs.labels,
      train_op_fn=lambda loss: loss + 1.,
      regularization_losses=inputs.regularization_losses)


def _new_session():
  """Returns a session that runs small graphs soon: it optimizes none."""
  config = v1.ConfigProto()
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  return v1.Session(config=config)


def _metrics_after(session, metrics, batches):
  """Returns the values of metrics after batches, as a dict.

  Args:
    session: a session with filled tables.
    metrics: dict from str to `(value, update_op)`.
    batches: list of feed_dict.
  """
  session.run(v1.local_variables_initializer())
  for batch in batches:
    session.run([update for _, update in metrics.values()], batch)
  return session.run({key: value for key, (value, _) in metrics.items()})


def _metric_batches(inputs):
  return {
      "no batch": [],
      "any labels": [inputs.batch(seed) for seed in range(3)],
      "no weight": [inputs.batch(4, weights="zero")],
      "lowest label": [inputs.batch(5, labels="lowest")],
      "highest label, sure": [inputs.batch(6, labels="highest", scale=50.)],
  }


def _signature(output, key):
  """Returns a signature as a dict, without the names of tensors in the graph.
  """
  examples = v1.placeholder(v1.string, [None])
  inputs = {"x": examples}
  if "predict" in key:
    inputs["y"] = v1.placeholder(v1.float32, [None, 2])
  signature = output.as_signature_def(inputs)

  def tensors(infos):
    return {
        name: [v1.as_dtype(info.dtype).name,
               v1.TensorShape(info.tensor_shape).as_list()]
        for name, info in infos.items()
    }

  return [signature.method_name, tensors(signature.inputs),
          tensors(signature.outputs)]


def _plain(value):
  """Returns a result of a session as a value that JSON has."""
  if isinstance(value, dict):
    return {"/".join(key) if isinstance(key, tuple) else key: _plain(v)
            for key, v in value.items()}
  if isinstance(value, bytes):
    return value.decode()
  if isinstance(value, np.ndarray):
    return [_plain(v) for v in value]
  if isinstance(value, np.floating):
    return float(f"{value:.7g}")
  return value.item() if isinstance(value, np.generic) else value


def _outcome(module, case):
  """Returns all that a head gives, in each mode, as a value that JSON has.

  Args:
    module: `adanet.heads` or `tf.estimator`.
    case: a `_Case`.
  """
  result = {}
  with v1.Graph().as_default():
    head = case.make(module)
    inputs = _Inputs(case)
    specs = {mode: _spec_of(head, inputs, mode) for mode in _MODES}
    with _new_session() as session:
      session.run(v1.tables_initializer())
      metrics = {
          name: _metrics_after(session, specs["eval"].eval_metric_ops, batches)
          for name, batches in _metric_batches(inputs).items()
      }
      feeds = inputs.batch(3)
      for mode, spec in specs.items():
        tensors = {"predictions": spec.predictions}
        tensors.update({
            part: getattr(spec, part) for part in ("loss", "train_op")
            if getattr(spec, part) is not None
        })
        result[mode] = session.run(tensors, feeds)
    result["eval"]["metrics"] = metrics
    result["infer"]["signatures"] = {
        key: _signature(output, key)
        for key, output in specs["infer"].export_outputs.items()
    }
    result["has"] = {
        mode: [spec.mode, bool(spec.eval_metric_ops),
               spec.export_outputs is not None]
        for mode, spec in specs.items()
    }
    result["summaries"] = sorted(
        tensor.op.name for tensor in
        v1.get_collection(v1.GraphKeys.SUMMARIES))
    result["name"] = head.name
    result["logits_dimension"] = head.logits_dimension
  result = _plain(result)
  for mode in ("train", "eval"):  # Not three times in the golden file.
    if result[mode]["predictions"] == result["infer"]["predictions"]:
      result[mode]["predictions"] = "as in infer"
  return result


def _golden():
  """Returns the outcomes of `tf.estimator`, as a dict from a case's name."""
  with open(runfiles.Create().Rlocation(_GOLDEN), encoding="utf-8") as f:
    return json.load(f)


def _differences(expected, actual, path=""):
  """Returns where two values of JSON differ, floats by 1e-5, as a list of str.
  """
  if isinstance(expected, dict) and isinstance(actual, dict):
    return [
        line for key in sorted(set(expected) | set(actual))
        for line in _differences(
            expected.get(key, "nothing"), actual.get(key, "nothing"),
            path + "/" + key)
    ]
  if (isinstance(expected, list) and isinstance(actual, list) and
      len(expected) == len(actual)):
    return [
        line for i, pair in enumerate(zip(expected, actual))
        for line in _differences(*pair, path=f"{path}[{i}]")
    ]
  if isinstance(expected, float) and isinstance(actual, float):
    equal = abs(expected - actual) <= 1e-5 * max(1., abs(expected))
  else:
    equal = expected == actual
  return [] if equal else [
      f"{path}: expected {expected!r}, got {actual!r}"]

# The last ones have several heads.
_NAMED_CASES = [(case.name, case) for case in reversed(_CASES)]
# The golden file is enough for shapes and functions of a user.
_METRIC_CASES = [
    (name, case) for name, case in _NAMED_CASES
    if not any(word in name for word in ("flat", "loss_fn", "sequences"))
]


def _assert_close(actual, expected, key):
  np.testing.assert_allclose(
      actual, expected, rtol=1e-5, atol=1e-5, err_msg=key)


class GoldenTest(parameterized.TestCase):

  @parameterized.named_parameters(level.first(_NAMED_CASES))
  def test_golden(self, case):
    differences = _differences(
        _golden()[case.name], _outcome(heads, case))
    if tf_compat.IS_TENSORFLOW_1:
      # As in its tf.estimator, where a MultiLabelHead does not predict them.
      differences = [line for line in differences
                     if not re.search("/classes: expected .* 'nothing'", line)]
    self.assertEmpty(differences)


@absltest.skipUnless(hasattr(v1, "estimator"),
                     "this TensorFlow has no tf.estimator")
class EstimatorHeadsTest(parameterized.TestCase):

  @parameterized.named_parameters(level.first(_NAMED_CASES))
  def test_golden_file(self, case):
    if tf_compat.IS_TENSORFLOW_1:
      self.skipTest("the golden file is of a later tf.estimator")
    outcome = _outcome(v1.estimator, case)
    self.assertEmpty(
        _differences(_golden().get(case.name, {}), outcome),
        f"{json.dumps(case.name)}: {json.dumps(outcome, sort_keys=True)}")

  @parameterized.named_parameters(level.first(_METRIC_CASES))
  def test_any_batches(self, case):
    with v1.Graph().as_default():
      inputs = _Inputs(case)
      ours, theirs = (
          _spec_of(case.make(module), inputs, "eval")
          for module in (heads, v1.estimator)
      )
      self.assertCountEqual(theirs.predictions, ours.predictions)
      self.assertCountEqual(theirs.eval_metric_ops, ours.eval_metric_ops)
      session = _new_session()
      self.addCleanup(session.close)
      session.run(v1.tables_initializer())
      initializer = v1.local_variables_initializer()
    of_batch = [{
        "loss": spec.loss,
        "predictions": {
            key: spec.predictions[key] for key in theirs.predictions},
        "updates": [update for _, update in spec.eval_metric_ops.values()],
    } for spec in (ours, theirs)]
    metrics = [
        {key: value for key, (value, _) in spec.eval_metric_ops.items()}
        for spec in (ours, theirs)
    ]

    @hypothesis.settings(max_examples=12)
    @hypothesis.given(
        st.lists(
            st.builds(
                inputs.batch,
                seed=st.integers(0, 10**6),
                labels=st.sampled_from(["any", "any", "lowest", "highest"]),
                weights=st.sampled_from(["any", "any", "zero"]),
                scale=st.sampled_from([.01, 1., 3., 20.])),
            min_size=1, max_size=3))
    def check(batches):
      session.run(initializer)
      for batch in batches:
        actual, expected = session.run(of_batch, batch)
        _assert_close(actual["loss"], expected["loss"], "loss")
        for key, value in expected["predictions"].items():
          np.testing.assert_array_equal(actual["predictions"][key], value, key)
      actual, expected = session.run(metrics)
      for key, value in expected.items():
        _assert_close(actual[key], value, key)

    check()


if __name__ == "__main__":
  absltest.main()
