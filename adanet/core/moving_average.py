# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The moving average of a candidate's AdaNet loss."""

import typing

from adanet import tf_compat


class MovingAverage(typing.NamedTuple):
  """An exponential moving average without the bias of its start at zero.

  Attributes:
    value: variable, float of shape []; zero before the first update.
    update: tensor, float of shape []; running it updates the average and
      returns it. None where nothing is averaged.
  """
  value: typing.Any
  update: typing.Any


def moving_average(tensor: typing.Any, decay: float,
                   has_state: bool) -> MovingAverage:
  """Makes the variables of an average, and its update.

  After n updates with x_1 .. x_n the average is
  `sum_i decay^(n-i) (1 - decay) x_i / (1 - decay^n)`. Source: Kingma and Ba
  2015, section 3. The variables have the names that
  `tensorflow.python.training.moving_averages` gives them.

  Args:
    tensor: float tensor of shape [], or None for an average that is only read.
    decay: float in [0, 1).
    has_state: whether the inner variables are made, too.
  """
  v1 = tf_compat.v1
  average = v1.get_variable("adanet_loss", initializer=0., trainable=False)
  if not has_state:
    return MovingAverage(average, None)
  with v1.variable_scope(average.op.name):
    biased = v1.get_variable("biased", initializer=0., trainable=False)
    count = v1.get_variable("local_step", initializer=0., trainable=False)
  if tensor is None:
    return MovingAverage(average, None)
  difference = (v1.convert_to_tensor(biased) - tensor) * (1. - decay)
  new_biased = v1.assign_sub(biased, difference)
  new_count = v1.assign_add(count, 1.)
  return MovingAverage(
      average,
      v1.assign(average, new_biased / (1. - v1.pow(float(decay), new_count))))
