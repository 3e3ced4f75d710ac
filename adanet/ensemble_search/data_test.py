# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which rows train, and in which order."""

from absl.testing import absltest
from adanet.ensemble_search import data as data_lib
import numpy as np

_X = np.arange(20, dtype="float32")[:, None]


def _data(seed=1):
  return data_lib.checked(_X, _X, 6, None, .2, None, None, None, seed)[0][0]


class DataTest(absltest.TestCase):

  def test_orders(self):
    data = _data()
    self.assertLen(data.trained.rows, 16)
    self.assertSequenceEqual(range(20), sorted(
        [*data.trained.rows, *data.held_out.rows]))
    orders = [data.order(epoch).tolist() for epoch in range(3)]
    for order in orders:
      self.assertEqual(data.trained.rows.tolist(), sorted(order))
    self.assertLen(set(map(tuple, orders)), 3)
    self.assertEqual(orders, [
        _data().order(epoch).tolist() for epoch in range(3)])
    self.assertNotEqual(data.held_out.rows.tolist(),
                        _data(2).held_out.rows.tolist())

  def test_batches(self):
    """The last one is smaller, and those of a resumed epoch are left out."""
    data = _data()
    for start in range(4):
      rows = [some.tolist() for _, rows in data.calls(5, start)
              for some in rows]
      order = data.order(5).tolist()
      self.assertEqual([order[:6], order[6:12], order[12:]][start:], rows)


if __name__ == "__main__":
  absltest.main()
