# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of errors as one line, of settings of GPUs, and of `tf.data`.

The GPUs are mocks: tests need none.
"""

from unittest import mock
import warnings

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.tf_compat import runtime
import numpy as np

_RULER = "=" * 21


class ErrorTextTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("one_line", "no such file", "no such file"),
      ("ruler", f"\n{_RULER}\nUNAVAILABLE: closed\n{_RULER}\n",
       "UNAVAILABLE: closed"),
      ("root_errors", "2 root error(s) found.\n  (0) UNAVAILABLE: closed\n\t "
       "[[{{node a}}]]\n  (1) CANCELLED: other", "UNAVAILABLE: closed"),
      ("another_task", "From /job:ps/replica:0/task:0:\nclosed", "closed"),
      ("nodes", "Graph execution error:\n\nDetected at node 'a' defined at (most "
       "recent call last):\n    File \"a.py\", line 9\n\nNode: 'a'\nDetected at "
       "node 'b' defined at (most recent call last):\nNode: 'b'\nclosed\n",
       "closed"),
      ("nothing", "", "UnavailableError"),
      ("only_a_ruler", _RULER, "UnavailableError"))
  def test_first_line(self, text, expected):
    error = tf_compat.v1.errors.UnavailableError(None, None, text)
    self.assertEqual(expected, runtime.error_line(error))

  def test_error_of_python(self):
    self.assertEqual("StopIteration", runtime.error_line(StopIteration()))
    self.assertEqual("7", runtime.error_line(KeyError(7)))

  def test_error_of_a_session(self):
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      read = v1.io.read_file("/none/at/all")
      with self.assertRaises(v1.errors.NotFoundError) as caught:
        session.run(read)
    self.assertEqual("/none/at/all; No such file or directory",
                     runtime.error_line(caught.exception))


_MOCK_GPUS = ["mock GPU 0", "mock GPU 1"]


def _mocked_config(growth=None, parts=None, error=None):
  """Returns a mock of `tf.config` with two GPUs.

  `growth` and `parts` are what the user has set for the second GPU, and `error`
  is what TensorFlow raises when the setting is made.
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
      ("alone", {}, [(gpu, True) for gpu in _MOCK_GPUS]),
      ("other_setting", {"growth": False}, []),
      ("divided", {"parts": ["mock part"]}, []),
      ("initialized", {"error": RuntimeError("initialized")},
       [(_MOCK_GPUS[0], True)]))
  def test_grow_memory(self, settings, expected):
    config = _mocked_config(**settings)
    with mock.patch.object(tf_compat.v2, "config", config):
      runtime.grow_gpu_memory()
    self.assertEqual(expected, [
        call[1] for call in config.experimental.set_memory_growth.mock_calls])

  def test_grow_memory_without_gpus(self):
    if tf_compat.IS_TENSORFLOW_1:
      self.skipTest("TensorFlow 1 has no tf.config.list_physical_devices.")
    with mock.patch.object(tf_compat.v2.config.experimental,
                           "set_memory_growth") as grow:
      runtime.grow_gpu_memory()
    self.assertLen(
        grow.mock_calls, len(tf_compat.v2.config.list_physical_devices("GPU")))

  def test_names(self):
    config = mock.Mock()
    config.list_logical_devices.return_value = [mock.Mock(), mock.Mock()]
    for i, device in enumerate(config.list_logical_devices.return_value):
      device.name = f"/device:GPU:{i}"
    with mock.patch.object(tf_compat.v2, "config", config):
      self.assertEqual(["/device:GPU:0", "/device:GPU:1"], runtime.gpu_names())
    config.list_logical_devices.assert_called_once_with("GPU")


_AUTOTUNE = -1


def _is_tuned(dataset):
  """Returns whether TensorFlow tunes a dataset; None if that is not said."""
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # In a graph this may not be up to date.
    options = dataset.options()
  if hasattr(options, "autotune"):
    return options.autotune.enabled
  return options.experimental_optimization.autotune


def _rows():
  return tf_compat.v1.data.Dataset.from_tensor_slices(np.arange(6))


def _with_options(dataset, enabled):
  options = tf_compat.v1.data.Options()
  if hasattr(options, "autotune"):
    options.autotune.enabled = enabled
  else:
    options.experimental_optimization.autotune = enabled
  return dataset.with_options(options)


class DatasetsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("_rows", _rows, False),
      ("_map", lambda: _rows().map(lambda x: x + 1).batch(2), False),
      ("_shuffle", lambda: _rows().shuffle(6).repeat().batch(2), False),
      ("_generator", lambda: tf_compat.v1.data.Dataset.from_generator(
          lambda: iter(range(6)), tf_compat.v1.int64), False),
      ("_prefetch", lambda: _rows().prefetch(_AUTOTUNE), None),
      ("_parallel", lambda: _rows().map(
          lambda x: x + 1, num_parallel_calls=_AUTOTUNE).batch(2), None),
      ("_parallel_inside", lambda: _rows().flat_map(
          lambda x: _rows().map(lambda y: x + y, num_parallel_calls=_AUTOTUNE)),
       None),
      ("_user_says_yes", lambda: _with_options(_rows(), True), True),
      ("_user_says_no", lambda: _with_options(_rows().prefetch(1), False),
       False))
  def test_is_tuned_where_there_is_something_to_tune(self, make, is_tuned):
    v1 = tf_compat.v1
    with v1.Graph().as_default():
      with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = runtime.without_idle_tuning(make())
      self.assertEqual(_is_tuned(dataset), is_tuned)
      iterator = v1.data.make_initializable_iterator(dataset)
      batch = iterator.get_next()
      with v1.Session() as session:
        session.run(iterator.initializer)
        session.run(batch)


if __name__ == "__main__":
  absltest.main()
