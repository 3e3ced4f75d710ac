# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of a search on a cluster, with this project or AdaNet 0.8.0.

  cluster_task.py MODEL_DIR NUM_ITERATIONS {delays,no_delays} [FOLDER]

Which of the two it is depends on the import path. If a FOLDER is named, a task
of this project writes a file there when it has taken its first step: the time
of the monotonic clock.
"""

import os
import sys
import time

from adanet.tf_compat import v1 as tf
from benchmarks import search


class _FirstStep(tf.train.SessionRunHook):
  """Writes when this task has taken its first step."""

  def __init__(self, folder):
    self._path = os.path.join(folder, str(os.getpid()))

  def after_run(self, run_context, run_values):
    now = time.monotonic()
    if not os.path.exists(self._path):
      with open(self._path, "w") as f:
        f.write(repr(now))


def main(model_dir, num_iterations, delays, folder=None):
  search.train_on_cluster(
      model_dir, int(num_iterations), delays == "delays",
      [_FirstStep(folder)] if folder else [])
  # TensorFlow 1.15 may wait for other tasks that have ended before this one.
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(0)  # pylint: disable=protected-access


if __name__ == "__main__":
  main(*sys.argv[1:])
