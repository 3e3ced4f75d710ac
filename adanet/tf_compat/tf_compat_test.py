# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the access to TensorFlow, on every version of it."""

import re
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.tf_compat import _tensorflow
from adanet.tf_compat import tensorflow_internals


class TfCompatTest(parameterized.TestCase):

  def test_keras_works_in_a_graph_of_tensorflow_1(self):
    tf = tf_compat.v1
    with tf.Graph().as_default(), tf.Session() as session:
      layer = tf_compat.keras.layers.Dense(
          2, kernel_initializer="ones", name="dense")
      outputs = layer(tf.constant([[1., 2.]]))
      self.assertEqual(["dense/kernel", "dense/bias"],
                       [w.op.name for w in layer.weights])
      session.run(tf.global_variables_initializer())
      self.assertEqual([[3., 3.]], session.run(outputs).tolist())

  def test_variable_ops(self):
    self.assertIsInstance(tf_compat.STANDARD_PS_OPS, frozenset)
    self.assertContainsSubset({"VariableV2", "VarHandleOp"},
                              tf_compat.STANDARD_PS_OPS)

  def test_eager_device(self):
    self.assertEqual("", tensorflow_internals.eager_device())
    with tf_compat.v2.device("/device:CPU:0"):
      if tf_compat.v2.executing_eagerly():  # Not in TensorFlow 1.15.
        self.assertEndsWith(
            tensorflow_internals.eager_device(), "/device:CPU:0")

  @parameterized.parameters("STANDARD_PS_OPS", "_RoundRobinStrategy")
  def test_a_tensorflow_without_a_name(self, name):
    module = tensorflow_internals.device_setter()
    with mock.patch.object(module, name, None):
      with self.assertRaisesRegex(
          RuntimeError, rf"^TensorFlow [0-9.]+ has no {name}, which adanet "
          r"needs for the devices of variables: install TensorFlow 1\.15"):
        tensorflow_internals.device_setter()

  def test_docstring_names_every_name(self):
    # The documentation is made from it.
    self.assertCountEqual(
        ["STANDARD_PS_OPS", *_tensorflow.LOADERS],
        re.findall(r"^  (\w+): ", tf_compat.__doc__, re.MULTILINE))

  def test_unknown_name(self):
    with self.assertRaisesRegex(AttributeError, "adanet.tf_compat.*'v3'"):
      tf_compat.v3  # pylint: disable=pointless-statement

  def test_without_tensorflow(self):
    # A finder that finds no TensorFlow stands for a machine without it.
    program = """if True:
        import sys
        class NoTensorFlow(object):
          def find_spec(self, name, path=None, target=None):
            if name == "tensorflow":
              raise ModuleNotFoundError("none", name=name)
        sys.meta_path.insert(0, NoTensorFlow())
        from adanet import tf_compat
        for name in sys.argv[1:]:
          try:
            getattr(tf_compat, name)
          except ModuleNotFoundError as e:
            print(e)
        """
    names = list(_tensorflow.LOADERS)
    output = subprocess.check_output(
        [sys.executable, "-c", program] + names, text=True)
    self.assertEqual(
        "tensorflow is not installed, and this use of adanet needs it: pip "
        "install tensorflow (or tensorflow-cpu).\n" * len(names), output)


if __name__ == "__main__":
  absltest.main()
