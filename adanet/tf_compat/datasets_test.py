# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of `tf.data`."""

import warnings

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.tf_compat import datasets
import numpy as np

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
        dataset = datasets.without_idle_tuning(make())
      self.assertEqual(_is_tuned(dataset), is_tuned)
      iterator = v1.data.make_initializable_iterator(dataset)
      batch = iterator.get_next()
      with v1.Session() as session:
        session.run(iterator.initializer)
        session.run(batch)


if __name__ == "__main__":
  absltest.main()
