# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The three networks of the job, as plain values: known without TensorFlow."""

import collections

Candidate = collections.namedtuple("Candidate", "name hidden_units")
"""What a subnetwork is before it is built.

Attributes:
  name: str, the scope of its variables.
  hidden_units: tuple of int, the widths of its hidden layers.
"""

CANDIDATES = (
    Candidate("linear", ()),
    Candidate("one_hidden_layer", (128,)),
    Candidate("two_hidden_layers", (128, 64)),
)
