# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the model_dirs in `testdata/stranded`.

Run it on TensorFlow 1.15 with a folder that `program --table=begun
--model_dirs=FOLDER` filled with AdaNet 0.8.0. Then `program --table=goes_on
--golden --model_dirs=COPY` with AdaNet 0.8.0 writes `testdata/stranded.json`,
where COPY is a copy of `testdata/stranded`.
"""

import os
import shutil
import sys

from adanet.tf_compat import v1 as tf


def _needed(model_dir):
  """Returns the paths of the files that a search reads to go on."""
  latest = os.path.basename(tf.train.latest_checkpoint(model_dir))
  result = []
  for folder, _, names in os.walk(model_dir):
    relative = os.path.relpath(folder, model_dir)
    for name in names:
      if (name.startswith(("architecture-", latest + ".index",
                           latest + ".data-")) or
          relative.split(os.sep)[0] in ("report", "train_manager")):
        result.append(os.path.normpath(os.path.join(relative, name)))
  return sorted(result)


def write(source, target):
  """Copies the needed files of each model_dir in a folder to another folder."""
  for name in sorted(os.listdir(source)):
    model_dir = os.path.join(source, name)
    for path in _needed(model_dir):
      copy = os.path.join(target, name, path)
      os.makedirs(os.path.dirname(copy), exist_ok=True)
      shutil.copyfile(os.path.join(model_dir, path), copy)
    # AdaNet 0.8.0 writes absolute paths, which no other folder has.
    tf.train.update_checkpoint_state(
        os.path.join(target, name),
        os.path.basename(tf.train.latest_checkpoint(model_dir)))


if __name__ == "__main__":
  write(*sys.argv[1:])
