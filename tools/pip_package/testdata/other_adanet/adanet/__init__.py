# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Another package of this name; its modules are named as adanet's of 2019."""

from adanet import distributed
from adanet import ensemble
from adanet.core import Estimator
from adanet.version import __version__
