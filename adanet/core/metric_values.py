# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The values that an evaluation returns."""

from typing import Any, Dict, Mapping


class MetricValues(Dict[str, Any]):
  """A dict of metrics, which gives a few more to who asks for them by name.

  These are not seen by who prints the dict, compares it, or makes JSON of it.

  Attributes:
    more: dict of them.
  """

  def __init__(self, metrics: Mapping[str, Any], more: Mapping[str, Any]):
    """Takes the metrics, and the metrics that are given by name alone."""
    super().__init__(metrics)
    self.more = dict(more)

  def __missing__(self, key: str) -> Any:
    return self.more[key]
