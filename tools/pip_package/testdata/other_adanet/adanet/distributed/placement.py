# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A module that the adanet that is tested has too."""


class RoundRobinStrategy(object):
  pass
