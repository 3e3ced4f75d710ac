# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stand for data of pandas, which is not here on every version."""

import numpy as np


class ColumnLikePandas:
  """Stands for a `pandas.Series`."""

  iloc = None  # By which pandas is known.

  def __init__(self, values):
    self._values = np.asarray(values)

  def __array__(self, dtype=None, copy=None):
    del copy
    return self._values if dtype is None else self._values.astype(dtype)

  def __len__(self):
    return len(self._values)


class FrameLikePandas:
  """Stands for a `pandas.DataFrame`."""

  iloc = None

  def __init__(self, columns):
    self._columns = columns
    self.columns = list(columns)

  def __array__(self, dtype=None, copy=None):
    del copy
    return np.stack(list(self._columns.values()), 1).astype(dtype)

  def __getitem__(self, name):
    return ColumnLikePandas(self._columns[name])
