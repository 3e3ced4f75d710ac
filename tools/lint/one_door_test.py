# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what counts as going past the one door to TensorFlow."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.lint import one_door

_TRY = """
try:
  import tensorflow.compat.v2 as tf
except ImportError:
  tf = None
"""
_INSIDE = """
def f():
  if True:
    from tensorflow import keras
"""
_PROGRAM = '''
_SERVE = """
import sys
import tensorflow as tf
"""
'''
_INDENTED_PROGRAM = '''
def f():
  program = """if True:
      from adanet import tf_compat
      assert tf_compat.v1.VERSION
      """
'''
_DEDENTED_PROGRAM = '''
program = textwrap.dedent("""
    import tensorflow
    """)
'''
_FORMATTED_PROGRAM = """
f("import sys; {}; import tensorflow; sys.exit()".format(statement))
"""
_ALIASES = """
from adanet import tf_compat as door
tf = door.v1
assert tf.version.VERSION < "2"
"""


class OneDoorTest(parameterized.TestCase):

  @parameterized.parameters(
      "import tensorflow",
      "import os, tensorflow.compat.v1 as tf",
      "import tensorflow.python.training.device_setter",
      "from tensorflow import compat",
      "from tensorflow.python.eager import context",
      "from tensorflow_estimator.python import estimator",
      "import tf_keras",
      "from keras import layers",
      "import importlib; tf = importlib.import_module('tensorflow.compat.v1')",
      "tf = __import__('tensorflow')",
      _TRY, _INSIDE, _PROGRAM, _DEDENTED_PROGRAM, _FORMATTED_PROGRAM)
  def test_import(self, source):
    [(_, wrong)] = one_door.find(source)
    self.assertRegex(wrong, "^imports (tensorflow|tf_keras|keras)")

  @parameterized.parameters(
      "from adanet.tf_compat import _tensorflow",
      "import adanet.tf_compat._tensorflow",
      "from adanet.tf_compat._tensorflow import v1",
      "from adanet import tf_compat\ntf_compat._version()",
      "import adanet\nadanet.tf_compat._tensorflow",
      "from adanet import tf_compat as door\ngetattr(door, '_version')")
  def test_past_the_face_of_the_door(self, source):
    [(_, wrong)] = one_door.find(source)
    self.assertRegex(wrong, r"^imports adanet\.tf_compat\._.*own$")

  @parameterized.parameters(
      "from adanet import tf_compat\ntf_compat.v1.VERSION",
      "from adanet import tf_compat\ntf_compat.v2.__version__ >= '2.16'",
      "from adanet import tf_compat\ngetattr(tf_compat.v1, 'VERSION', '')",
      "import adanet\nadanet.tf_compat.v1.GIT_VERSION",
      "import numpy as np\nnp.__version__",
      "tf().version.VERSION",
      "from distutils import version",
      "import distutils.version",
      "from packaging import version",
      "import packaging.version",
      "from packaging.version import parse",
      "from setuptools.extern import LooseVersion",
      "pkg_resources.parse_version(x)",
      "from importlib import metadata\nmetadata.version('tensorflow')",
      "import importlib.metadata\nimportlib.metadata.version('tensorflow-cpu')",
      "from importlib.metadata import version\nversion('tf-keras')",
      "import pkg_resources\npkg_resources.get_distribution('tensorflow')",
      _ALIASES, _INDENTED_PROGRAM)
  def test_version(self, source):
    [(_, wrong)] = one_door.find(source)
    self.assertStartsWith(wrong, "asks for a version with ")

  @parameterized.parameters(
      "",
      "from adanet import tf_compat\nhasattr(tf_compat.v1, 'estimator')",
      "from adanet.tf_compat import RunConfig",
      "from adanet import tf_compat\ngetattr(tf_compat.device_setter, '_Foo')",
      "from adanet import version\nversion.VERSION",
      "import adanet\nadanet.__version__",
      "from adanet.version import VERSION as __version__",
      "VERSION = '0.1.0'",
      "import sys\nsys.version_info >= (3, 8)",
      "from packaging import requirements",
      "from importlib import metadata\nmetadata.version('absl-py')",
      "self._version = 1",
      "'''A door to import tensorflow by; see tf.__version__.'''",
      "pip = 'tensorflow'\nsys.modules['tensorflow'] = None",
      "import tensorflow_datasets_of_mine",
      "import keras_of_mine")
  def test_fine(self, source):
    self.assertEmpty(one_door.find(source))

  def test_each_line_once_in_order(self):
    self.assertEqual(
        [2, 4, 5], [line for line, _ in one_door.find(
            "def f():\n  import tensorflow\n\nimport keras\n"
            "assert tf.VERSION == tf2.VERSION\nimport os\n")])

  def test_no_python(self):
    with self.assertRaises(SyntaxError):
      one_door.find("import")


if __name__ == "__main__":
  absltest.main()
