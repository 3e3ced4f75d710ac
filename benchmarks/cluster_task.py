# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of a search on a cluster, with this project or AdaNet 0.8.0.

  cluster_task.py MODEL_DIR NUM_ITERATIONS {delays,no_delays} [FILE]

Which of the two it is depends on the import path. If a FILE is named, each task
that takes a first step adds a line to it: the time of the monotonic clock.
"""

import logging
import os
import sys
import time

from absl import logging as absl_logging
from benchmarks import search


class _FirstStep(logging.Handler):
  """Writes when this task says that it works."""

  def __init__(self, path):
    super(_FirstStep, self).__init__()
    self._path = path

  def emit(self, record):
    if record.getMessage().endswith(" works."):
      with open(self._path, "a") as f:
        f.write("{!r}\n".format(time.monotonic()))


def main(model_dir, num_iterations, delays, path=None):
  if path:
    absl_logging.set_verbosity(absl_logging.INFO)
    absl_logging.get_absl_logger().addHandler(_FirstStep(path))
  search.train_on_cluster(model_dir, int(num_iterations), delays == "delays")
  # TensorFlow 1.15 may wait for other tasks that have ended before this one.
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(0)  # pylint: disable=protected-access


if __name__ == "__main__":
  main(*sys.argv[1:])
