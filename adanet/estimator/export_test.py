# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of writing SavedModels, of their inputs, and of serving from them."""

import os
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import inputs
from adanet import tf_compat
from adanet.estimator import export
from adanet.estimator import saved_model
from adanet.heads import export_output
from adanet.testing import graphs
from adanet.testing import level
import numpy as np



def _example(x):
  """Returns a serialized example with the feature "x"."""
  example = tf_compat.v1.train.Example()
  example.features.feature["x"].float_list.value.append(x)
  return example.SerializeToString()


def _parsing_receiver():
  """Returns a receiver of examples, with the raw feature as alternative."""
  receiver = export.build_parsing_serving_input_receiver_fn(
      {"x": tf_compat.v1.io.FixedLenFeature([1], tf_compat.v1.float32)})()
  return export.ServingInputReceiver(receiver.features,
                                     receiver.receiver_tensors,
                                     {"raw": receiver.features})


def _raw_receiver():
  return export.build_raw_serving_input_receiver_fn(
      {"x": np.zeros([3, 1], np.float32)})()


def _double(features):
  """Makes a model that doubles "x", and returns its export outputs."""
  v1 = tf_compat.v1
  weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer())
  table = v1.lookup.StaticHashTable(
      v1.lookup.KeyValueTensorInitializer(
          v1.constant([0, 1], v1.int64), v1.constant(["low", "high"])), "?")
  doubled = weight * features["x"]
  name = table.lookup(v1.cast(doubled > 5., v1.int64))
  predict = export_output.PredictOutput({"doubled": doubled, "name": name})
  return {
      "serving_default": export_output.RegressionOutput(doubled),
      "regression": export_output.RegressionOutput(doubled),
      "predict": predict,
  }


def _restore(session):
  """Gives the weight of `_double` its value."""
  weight, = tf_compat.v1.global_variables()
  weight.load(2., session)


def _export_saved_model(base, receiver_fn, build, restore, **kwargs):
  """Writes a model that is built on the features of a receiver."""
  with tf_compat.v1.Graph().as_default():
    receiver = receiver_fn()
    signatures = saved_model.signature_defs(
        receiver.receiver_tensors,
        getattr(receiver, "receiver_tensors_alternatives", None),
        build(receiver.features))
    with tf_compat.v1.Session() as session:
      restore(session)
      return saved_model.write_saved_model(
          base, session, signatures, tf_compat.v1.group(
              tf_compat.v1.local_variables_initializer(),
              tf_compat.v1.tables_initializer()), **kwargs)


class ExportTestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.base = self.create_tempdir().full_path

  def _export(self, receiver_fn=_parsing_receiver, build=_double, **kwargs):
    return _export_saved_model(self.base, receiver_fn, build, _restore,
                                     **kwargs).decode()

  def _load(self, path, use):
    """Returns what a function of (session, signatures) returns."""
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      loaded = v1.saved_model.load(session, ["serve"], path)
      return use(session, loaded.signature_def)

  def _serve(self, path, signature, feed):
    """Returns the outputs of a signature, by name."""

    def serve(session, signatures):
      inputs = signatures[signature].inputs
      outputs = signatures[signature].outputs
      return session.run({name: outputs[name].name for name in outputs},
                         {inputs[name].name: feed[name] for name in feed})

    return self._load(path, serve)


class ExportSavedModelTest(ExportTestCase):

  def test_serves_in_a_session(self):
    path = self._export()
    self.assertEqual(
        ["predict", "raw:predict", "regression", "serving_default"],
        self._load(path, lambda _, signatures: sorted(signatures)))
    examples = [_example(2.), _example(3.)]
    for signature, feed, output in (
        ("serving_default", {"inputs": examples}, "outputs"),
        ("regression", {"inputs": examples}, "outputs"),
        ("predict", {"examples": examples}, "doubled"),
        ("raw:predict", {"x": [[2.], [3.]]}, "doubled")):
      outputs = self._serve(path, signature, feed)
      np.testing.assert_array_equal([[4.], [6.]], outputs[output])
    # The main op has initialized the table.
    np.testing.assert_array_equal([[b"low"], [b"high"]], outputs["name"])

  def test_serves_in_tensorflow_2(self):
    v2 = tf_compat.v2
    path = self._export()
    if not tf_compat.v1.executing_eagerly():
      self.skipTest("Only TensorFlow 2 loads it without a session.")
    loaded = v2.saved_model.load(path)
    outputs = loaded.signatures["predict"](
        examples=v2.constant([_example(2.), _example(3.)]))
    np.testing.assert_array_equal([[4.], [6.]], outputs["doubled"])
    np.testing.assert_array_equal([[b"low"], [b"high"]], outputs["name"])

  def test_raw_features(self):
    path = self._export(_raw_receiver)
    outputs = self._serve(path, "predict", {"x": [[2.]]})
    np.testing.assert_array_equal([[4.]], outputs["doubled"])
    # Regression takes serialized examples only.
    self.assertEqual(["predict", "serving_default"],
                     self._load(path, lambda _, s: sorted(s)))

  def test_path_is_the_time_as_bytes(self):
    before = int(time.time())
    path = _export_saved_model(self.base.encode(), _raw_receiver, _double,
                                     _restore)
    self.assertIsInstance(path, bytes)
    folder, name = os.path.split(path.decode())
    self.assertEqual(self.base, folder)
    self.assertBetween(int(name), before, int(time.time()))
    self.assertEqual([name], os.listdir(self.base))

  def test_a_second_export_has_a_higher_number(self):
    first, second = self._export(), self._export()
    self.assertLess(int(os.path.basename(first)), int(os.path.basename(second)))

  def test_exports_at_a_time(self):
    names = []
    timestamped = saved_model.timestamped_export_dir

    def name_of_both(base):  # A second process has chosen the same name.
      if not names:
        names.append(timestamped(base))
        names.append(self._export())
        return names[0]
      return names[0] if len(names) == 1 else timestamped(base)

    with mock.patch.object(saved_model, "timestamped_export_dir", name_of_both):
      path = self._export()
    self.assertEqual(names[0], names[1])
    self.assertLess(int(os.path.basename(names[0])),
                    int(os.path.basename(path)))
    for exported in names[1], path:
      self._serve(exported, "serving_default", {"inputs": []})
    self.assertLen(os.listdir(self.base), 2)

  def test_removes_no_folder_of_another_process(self):
    with mock.patch.object(saved_model, "timestamped_export_dir",
                           return_value=os.path.join(self.base, "12")):
      os.mkdir(os.path.join(self.base, "temp-12"))
      with self.assertRaises(tf_compat.v1.errors.NotFoundError):
        self._export(assets_extra={"words.txt": "/does/not/exist"})
    self.assertEqual(["temp-12"], os.listdir(self.base))

  def test_extra_assets_and_text(self):
    source = self.create_tempfile(content="a vocabulary").full_path
    path = self._export(as_text=True, assets_extra={
        "deep/words.txt": source, "words.txt": source.encode()})
    for name in ["deep/words.txt", "words.txt"]:
      with open(os.path.join(path, "assets.extra", name)) as f:
        self.assertEqual("a vocabulary", f.read())
    self.assertIn("saved_model.pbtxt", os.listdir(path))

  def test_model_without_variables(self):
    path = _export_saved_model(
        self.base, _raw_receiver,
        lambda features: {"p": export_output.PredictOutput(features["x"])},
        lambda session: None).decode()
    outputs = self._serve(path, "serving_default", {"x": [[5.]]})
    np.testing.assert_array_equal([[5.]], outputs["output"])

  def test_an_error_leaves_nothing(self):
    with self.assertRaises(tf_compat.v1.errors.NotFoundError):
      self._export(assets_extra={"words.txt": "/does/not/exist"})
    self.assertEqual([], os.listdir(self.base))

  @mock.patch.object(time, "sleep")
  @mock.patch.object(time, "time", return_value=12.9)
  def test_no_free_timestamp(self, unused_time, unused_sleep):
    os.mkdir(os.path.join(self.base, "12"))
    with self.assertRaisesRegex(RuntimeError, self.base):
      saved_model.timestamped_export_dir(self.base)


class _Estimator:
  """Exports with `tf.estimator` what `export` gets."""

  def __init__(self, module, receiver_fn, build):
    self._module = module
    self._receiver_fn = receiver_fn
    self._build = build

  def _model_fn(self, features, labels, mode):
    v1 = tf_compat.v1
    del labels
    outputs = self._build(features)
    estimator_export = self._module.export
    exports = {}
    for name, output in outputs.items():
      if isinstance(output, export_output.RegressionOutput):
        exports[name] = estimator_export.RegressionOutput(output.value)
      elif isinstance(output, export_output.ClassificationOutput):
        exports[name] = estimator_export.ClassificationOutput(
            output.scores, output.classes)
      else:
        exports[name] = estimator_export.PredictOutput(output.outputs)
    loss = v1.constant(0.)
    return self._module.EstimatorSpec(
        mode, predictions=features, loss=loss, export_outputs=exports,
        train_op=v1.assign_add(v1.train.get_global_step(), 1))

  def export(self, folder):
    v1 = tf_compat.v1
    estimator = self._module.Estimator(self._model_fn, folder)
    estimator.train(
        lambda: v1.data.Dataset.from_tensors(({"x": [[1.]]}, [[1.]])), steps=1)
    return estimator.export_saved_model(
        os.path.join(folder, "export"), self._receiver_fn).decode()


def _one_output(features):
  return {"mine": export_output.PredictOutput(features["x"] + 1.)}


def _classes(features):
  """Returns each kind of output of a classifier."""
  # TensorFlow 2 leaves out signatures that return an input as it is.
  x = features["x"] + 1.
  names = tf_compat.v1.as_string(x)
  return {
      "serving_default": export_output.ClassificationOutput(x, names),
      "scores": export_output.ClassificationOutput(scores=x),
      "classes": export_output.ClassificationOutput(classes=names),
      "predict": export_output.PredictOutput({"x": x, "names": names}),
      "number": export_output.PredictOutput(x),
  }


class SignatureDefsTest(ExportTestCase):

  @parameterized.product(
      receiver_fn=[_parsing_receiver, _raw_receiver],
      build=[_double, _one_output, _classes])
  def test_signatures_are_those_of_tf_estimator(self, receiver_fn, build):
    module = getattr(tf_compat.v1, "estimator", None)
    if module is None:
      self.skipTest("This TensorFlow has no tf.estimator.")
    theirs = _Estimator(module, receiver_fn, build).export(
        self.create_tempdir().full_path)
    ours = _export_saved_model(
        self.base, receiver_fn, build,
        lambda session: session.run(
            tf_compat.v1.global_variables_initializer())).decode()
    names = lambda _, signatures: {n: str(signatures[n]) for n in signatures}
    expected = self._load(theirs, names)
    if "predict" in expected:  # Beyond tf.estimator.
      expected.setdefault("serving_default", expected["predict"])
    self.assertEqual(expected, self._load(ours, names))

  def test_a_single_output_is_the_default_too(self):
    with tf_compat.v1.Graph().as_default():
      x = tf_compat.v1.placeholder(tf_compat.v1.float32, [None])
      outputs = {"mine": export_output.PredictOutput(x)}
      signatures = saved_model.signature_defs(
          {"x": x}, {"other": {"x": x}}, outputs)
    self.assertCountEqual(
        ["mine", "serving_default", "other:mine", "other:serving_default"],
        signatures)
    self.assertEqual(["output"], list(signatures["mine"].outputs))
    self.assertEqual(["mine"], list(outputs))

  @parameterized.parameters(
      (["a"], "a"), (["predict"], "predict"), (["a", "predict"], "predict"),
      (["a", "b"], None))
  def test_default_of_raw_features(self, names, meant):
    with tf_compat.v1.Graph().as_default():
      x = tf_compat.v1.placeholder(tf_compat.v1.float32, [None], name="x")
      outputs = {name: export_output.PredictOutput({name: x}) for name in names}
      outputs["serving_default"] = export_output.RegressionOutput(x)
      signatures = saved_model.signature_defs(
          {"x": x}, {"other": {"x": x}}, outputs)
    default = signatures.pop("serving_default", None)
    self.assertCountEqual(
        names + ["other:" + name for name in names], signatures)
    self.assertEqual(signatures.get(meant), default)

  def test_warns_of_no_default_and_says_why(self):
    with tf_compat.v1.Graph().as_default(), self.assertLogs() as logs:
      receiver = _raw_receiver()
      outputs = _double(receiver.features)
      outputs["mine"] = outputs["yours"] = outputs.pop("predict")
      saved_model.signature_defs(receiver.receiver_tensors, None, outputs)
    text = "\n".join(logs.output)
    self.assertIn("no signature 'serving_default': receiver_tensors=", text)
    self.assertIn("requests must name one of ['mine', 'yours']", text)

  def test_leaves_out_what_cannot_be_served(self):
    output = mock.Mock()
    output.as_signature_def.return_value = (
        tf_compat.v1.saved_model.build_signature_def(
              method_name="tensorflow/serving/predict"))
    with tf_compat.v1.Graph().as_default():
      x = tf_compat.v1.placeholder(tf_compat.v1.float32, [None])
      self.assertEqual({}, saved_model.signature_defs(
          {"x": x}, None, {"empty": output}))

  def test_several_outputs_without_a_default(self):
    with tf_compat.v1.Graph().as_default():
      x = tf_compat.v1.placeholder(tf_compat.v1.float32, [None])
      output = export_output.PredictOutput(x)
      with self.assertRaisesRegex(
          ValueError, r"\['a', 'b'\].*Name one of them 'serving_default'"):
        saved_model.signature_defs(
            {"x": x}, None, {"a": output, "b": output})


def _predictions(head):
  """Returns a function that applies a head to what follows from features."""
  def build(features):
    weights = tf_compat.v1.get_variable(
        "weights", initializer=np.linspace(-1, 1, 3 * head.logits_dimension)
        .reshape(3, -1).astype(np.float32))
    return head.create_estimator_spec(
        features, "infer", tf_compat.v1.matmul(features["x"], weights)
    ).export_outputs
  return build


class TfliteTest(ExportTestCase):

  @parameterized.parameters([
      heads.MultiHead([heads.RegressionHead(name="a"),
                       heads.MultiClassHead(3, name="b")]),
      heads.BinaryClassHead(label_vocabulary=["no", "yes"]),
      heads.MultiClassHead(3, label_vocabulary=["red", "green", "blue"]),
      heads.MultiLabelHead(3)])
  @level.gate
  def test_converted_predicts_the_same(self, head):
    lite = tf_compat.v2.lite
    if not hasattr(lite.Interpreter, "get_signature_runner"):
      self.skipTest("TensorFlow 1.15 has no interpreter of signatures.")
    data = np.random.RandomState(1).normal(size=[5, 3]).astype(np.float32)
    path = _export_saved_model(
        self.base, export.build_raw_serving_input_receiver_fn({"x": data}),
        _predictions(head), lambda session: session.run(
            tf_compat.v1.global_variables_initializer())).decode()
    model = lite.TFLiteConverter.from_saved_model(path).convert()
    run = lite.Interpreter(model_content=model).get_signature_runner(
        "serving_default")
    expected = self._serve(path, "predict", {"x": data})
    for size in [1, 5]:
      outputs = run(x=data[:size])
      self.assertCountEqual(expected, outputs)
      for name, values in expected.items():
        if values.dtype == np.float32:
          np.testing.assert_allclose(
              values[:size], outputs[name], atol=1e-6, err_msg=name)
        else:
          np.testing.assert_array_equal(values[:size], outputs[name], name)


class ReceiverTest(graphs.GraphTestCase):

  def setUp(self):
    super().setUp()
    self.tensor = tf_compat.v1.placeholder(tf_compat.v1.string, [None])

  def test_single_tensors_get_names(self):
    receiver = export.ServingInputReceiver(
        self.tensor, self.tensor, {"other": self.tensor})
    self.assertEqual(
        ({"feature": self.tensor}, {"input": self.tensor},
         {"other": {"input": self.tensor}}), receiver)
    # A receiver of a tensor keeps that of the features.
    receiver = export.TensorServingInputReceiver(self.tensor, self.tensor)
    self.assertIs(self.tensor, receiver.features)
    self.assertEqual(({"input": self.tensor}, None), receiver[1:])
    with self.assertRaisesRegex(ValueError, "Expected a tensor"):
      export.TensorServingInputReceiver({"x": self.tensor}, self.tensor)

  def test_sparse_features(self):
    sparse = tf_compat.v1.sparse_placeholder(tf_compat.v1.int64)
    receiver = export.ServingInputReceiver({"ids": sparse, 3: self.tensor},
                                           self.tensor)
    self.assertIs(sparse, receiver.features["ids"])

  @parameterized.parameters(
      (dict(features=None), "features is None"),
      (dict(features={"x": 3}), r"features\['x'\] is 3. Expected a tensor"),
      (dict(features={2.5: "tensor"}), "has the key 2.5. Expected str or int"),
      (dict(receiver_tensors=None), "receiver_tensors is None"),
      (dict(receiver_tensors={1: "tensor"}), "has the key 1. Expected str"),
      (dict(receiver_tensors_alternatives=3), "_alternatives is 3"),
      (dict(receiver_tensors_alternatives={"raw": None}),
       r"_alternatives\['raw'\] is None"),
  )
  def test_bad_tensors(self, arguments, message):
    arguments = dict(
        dict(features=self.tensor, receiver_tensors=self.tensor), **arguments)
    with self.assertRaisesRegex(ValueError, message):
      export.ServingInputReceiver(**arguments)

  @parameterized.parameters((None, [None, 2]), (5, [5, 2]))
  def test_raw_placeholders(self, batch_size, shape):
    like = tf_compat.v1.ones([3, 2], tf_compat.v1.int64, name="like")
    receiver = export.build_raw_serving_input_receiver_fn(
        {"x": like, "array": np.zeros([3, 2], np.int64)}, batch_size)()
    self.assertEqual(receiver.features, receiver.receiver_tensors)
    for name in ["x", "array"]:
      tensor = receiver.features[name]
      self.assertEqual("Placeholder", tensor.op.type)
      self.assertEqual(tf_compat.v1.int64, tensor.dtype)
      self.assertEqual(shape, tensor.shape.as_list())
    self.assertStartsWith(receiver.features["x"].op.name, "like")
    receiver = export.build_raw_serving_input_receiver_fn(self.tensor)()
    self.assertEqual(["feature"], list(receiver.features))
    self.assertEqual(["input"], list(receiver.receiver_tensors))


_FEATURES = {
    "wide": np.zeros([4, 2, 3]), "word": np.array(["a", "b", "c", "d"]),
    "small": np.zeros([4, 1], np.int32), "yes": np.zeros([4], bool)}


def _arrays(features):
  return inputs.numpy_input_fn(features, np.zeros([4]), 2, None, True)


def _tensors(mode, config):
  """Is an input_fn of tensors, one of them sparse."""
  v1 = tf_compat.v1
  del config
  assert mode == "infer", mode
  return {"dense": v1.zeros([2, 3], v1.float16),
          "sparse": v1.SparseTensor([[0, 1]], [1], [2, 5])}, v1.zeros([2])


def _kinds(features):
  """Returns the type and shape of each tensor."""
  if not isinstance(features, dict):
    return features.dtype.name, features.shape.as_list()
  return {name: (tensor.dtype.name, tensor.shape.as_list())
          for name, tensor in features.items()}


class ServingInputTest(graphs.GraphTestCase):

  @parameterized.parameters(
      (export.build_raw_serving_input_receiver_fn, {
          "wide": ("float32", [None, 2, 3]), "word": ("string", [None]),
          "small": ("int32", [None, 1]), "yes": ("bool", [None])}),
      (export.build_parsing_serving_input_receiver_fn, {
          "examples": ("string", [None])}))
  def test_has_the_features_of_the_input_fn(self, build, receives):
    for input_fn, batch, expected in (
        (_arrays(_FEATURES), None, {
            "wide": ("float64", [None, 2, 3]), "word": ("string", [None]),
            "small": ("int32", [None, 1]), "yes": ("bool", [None])}),
        (_arrays(_FEATURES["wide"]), 7, ("float64", [7, 2, 3]))):
      receiver = build(input_fn, batch)()
      self.assertEqual(expected, _kinds(receiver.features))
    self.assertEqual(
        receives, _kinds(build(_arrays(_FEATURES))().receiver_tensors))

  def test_raw(self):
    receiver = export.build_raw_serving_input_receiver_fn(_tensors)()
    self.assertEqual(("float16", [None, 3]), _kinds(receiver.features)["dense"])
    sparse = receiver.features["sparse"]
    self.assertIsInstance(sparse, tf_compat.v1.SparseTensor)
    self.assertEqual(("int32", 2), (sparse.dtype.name, sparse.shape.rank))
    self.assertEqual(receiver.features, receiver.receiver_tensors)

  def test_parses_examples(self):
    v1 = tf_compat.v1
    receiver = export.build_parsing_serving_input_receiver_fn(_tensors)()
    example = v1.train.Example()
    example.features.feature["dense"].float_list.value.extend([1, 2, 3])
    example.features.feature["sparse"].int64_list.value.append(4)
    with v1.Session() as session:
      features = session.run(receiver.features, {
          receiver.receiver_tensors["examples"]: [
              example.SerializeToString()]})
    self.assertEqual([[1, 2, 3]], features["dense"].tolist())
    self.assertEqual(np.float16, features["dense"].dtype)
    self.assertEqual([4], features["sparse"].values.tolist())
    self.assertEqual(np.int32, features["sparse"].values.dtype)

  @parameterized.parameters(
      (lambda: {"x": tf_compat.v1.zeros([2], "complex64")},
       "the feature 'x' with the type complex64, which no example has: give"),
      (lambda: {"x": tf_compat.v1.placeholder("float32", [None, None])},
       r"the feature 'x' with the shape \(.*\): expected a known size of each"),
      (lambda: {"x": tf_compat.v1.zeros([])},
       r"features have the shape \[\], without a dimension of the examples"))
  def test_no_example_has_it(self, input_fn, message):
    with self.assertRaisesRegex(ValueError, message):
      export.build_parsing_serving_input_receiver_fn(input_fn)


if __name__ == "__main__":
  absltest.main()
