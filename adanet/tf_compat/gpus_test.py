# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which settings of GPUs are made. The GPUs are mocks: tests need none."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.tf_compat import gpus

_MOCK_GPUS = ["mock GPU 0", "mock GPU 1"]


def _mocked_config(growth=None, parts=None, error=None):
  """Returns a mock of `tf.config` with two GPUs.

  Args:
    growth: bool, the user's setting of the second GPU, or None.
    parts: list with the user's division of the second GPU, or None.
    error: what TensorFlow raises when the setting is made, or None.
  """
  config = mock.Mock()
  config.list_physical_devices.side_effect = lambda kind: {
      "GPU": _MOCK_GPUS}[kind]
  config.experimental.get_memory_growth.side_effect = dict(
      zip(_MOCK_GPUS, [None, growth])).get
  config.get_logical_device_configuration.side_effect = dict(
      zip(_MOCK_GPUS, [None, parts])).get
  config.experimental.set_memory_growth.side_effect = error
  return config


class GpusTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("alone", {}, [(one, True) for one in _MOCK_GPUS]),
      ("other_setting", {"growth": False}, []),
      ("divided", {"parts": ["mock part"]}, []),
      ("initialized", {"error": RuntimeError("initialized")},
       [(_MOCK_GPUS[0], True)]))
  def test_grow_memory(self, given, expected):
    config = _mocked_config(**given)
    with mock.patch.object(tf_compat.v2, "config", config):
      gpus.grow_memory()
    self.assertEqual(expected, [
        one[1] for one in config.experimental.set_memory_growth.mock_calls])

  def test_grow_memory_without_gpus(self):
    if tf_compat.IS_TENSORFLOW_1:
      self.skipTest("TensorFlow 1 has no tf.config.list_physical_devices.")
    with mock.patch.object(tf_compat.v2.config.experimental,
                           "set_memory_growth") as grow:
      gpus.grow_memory()
    self.assertLen(
        grow.mock_calls, len(tf_compat.v2.config.list_physical_devices("GPU")))

  def test_names(self):
    config = mock.Mock()
    config.list_logical_devices.return_value = [mock.Mock(), mock.Mock()]
    for i, one in enumerate(config.list_logical_devices.return_value):
      one.name = f"/device:GPU:{i}"
    with mock.patch.object(tf_compat.v2, "config", config):
      self.assertEqual(["/device:GPU:0", "/device:GPU:1"], gpus.names())
    config.list_logical_devices.assert_called_once_with("GPU")


if __name__ == "__main__":
  absltest.main()
