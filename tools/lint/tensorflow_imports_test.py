# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the check on imports of TensorFlow."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.lint import tensorflow_imports

_NESTED = """
def f():
  try:
    from tensorflow import keras
  except ImportError:
    pass
"""
_PROGRAM = '''
PROGRAM = """
    import sys
    import tensorflow as tf
    """
'''
_FORMATTED_PROGRAM = "f('import sys; {}; import tensorflow'.format(statement))"


class TensorflowImportsTest(parameterized.TestCase):

  @parameterized.parameters(
      "import tensorflow",
      "import os, tensorflow.compat.v1 as tf",
      "from tensorflow.python.eager import context",
      "from tensorflow_estimator.python import estimator",
      "import tf_keras",
      "from keras import layers",
      "tf = importlib.import_module('tensorflow.compat.v1')",
      "tf = __import__('tensorflow')",
      _NESTED, _PROGRAM, _FORMATTED_PROGRAM)
  def test_import(self, source):
    (_, message), = tensorflow_imports.check(source)
    self.assertRegex(message, "^imports (tensorflow|tf_keras|keras)")

  @parameterized.parameters(
      "from adanet.tf_compat import _tensorflow",
      "import adanet.tf_compat._tensorflow",
      "tf_compat._version()",
      "getattr(tf_compat, '_version')")
  def test_private(self, source):
    (_, message), = tensorflow_imports.check(source)
    self.assertRegex(message, r"^uses .*tf_compat\._.* is private to ")

  @parameterized.parameters(
      "tf_compat.v1.VERSION",
      "tf_compat.v2.__version__ >= '2.16'",
      "getattr(tf_compat.v1, 'VERSION', '')",
      "tf().version.VERSION",
      "from distutils import version",
      "from packaging.version import parse",
      "from setuptools.extern import LooseVersion",
      "pkg_resources.parse_version(x)",
      "importlib.metadata.version('tensorflow-cpu')",
      "program = 'import adanet; adanet.tf_compat.v1.VERSION'")
  def test_version(self, source):
    (_, message), = tensorflow_imports.check(source)
    self.assertStartsWith(message, "asks for a version with ")

  @parameterized.parameters(
      "",
      "hasattr(tf_compat.v1, 'estimator')",
      "from adanet.tf_compat import RunConfig",
      "from adanet.version import VERSION as __version__",
      "version.VERSION",
      "adanet.__version__",
      "VERSION = '0.1.0'",
      "sys.version_info >= (3, 8)",
      "from packaging import requirements",
      "metadata.version('absl-py')",
      "'''Text on how to import tensorflow, and on tf.__version__.'''",
      "pip = 'tensorflow'",
      "import keras_of_mine")
  def test_fine(self, source):
    self.assertEmpty(tensorflow_imports.check(source))

  def test_line_numbers(self):
    source = "import keras\nassert tf.VERSION == tf.VERSION\nimport tensorflow"
    self.assertEqual(
        [1, 2, 3], [line for line, _ in tensorflow_imports.check(source)])

  def test_syntax_error(self):
    with self.assertRaises(SyntaxError):
      tensorflow_imports.check("import")


if __name__ == "__main__":
  absltest.main()
