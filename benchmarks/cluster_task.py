# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of a search on a cluster, with this project or AdaNet 0.8.0.

  cluster_task.py MODEL_DIR NUM_ITERATIONS {delays,no_delays} [FOLDER]

Which of the two it is depends on the import path. If a FOLDER is named, a task
of this project writes a file there when it has taken its first step: the time
of the monotonic clock.
"""

import logging
import os
import sys
import time

from absl import logging as absl_logging
from benchmarks import search


class _FirstStep(logging.Handler):
  """Writes when a worker or the chief says that it works."""

  def __init__(self, folder):
    super(_FirstStep, self).__init__()
    self._folder = folder

  def emit(self, record):
    now = time.monotonic()
    task, _, rest = record.getMessage().partition(" ")
    if rest == "works." and not task.startswith("ps:"):
      with open(os.path.join(self._folder, task), "w") as f:
        f.write(repr(now))


def main(model_dir, num_iterations, delays, folder=None):
  if folder:
    absl_logging.set_verbosity(absl_logging.INFO)
    absl_logging.get_absl_logger().addHandler(_FirstStep(folder))
  search.train_on_cluster(model_dir, int(num_iterations), delays == "delays")
  # TensorFlow 1.15 may wait for other tasks that have ended before this one.
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(0)  # pylint: disable=protected-access


if __name__ == "__main__":
  main(*sys.argv[1:])
