# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of a page as each task of a cluster."""

import glob
import os
import re
import textwrap

from absl.testing import absltest
from adanet.testing import launches
import runfiles

_PAGE = "adanet/docs/train_and_evaluate.rst"


def _program():
  """Returns the program of the page."""
  with open(runfiles.Create().Rlocation(_PAGE), encoding="utf-8") as f:
    return textwrap.dedent(re.search(
        r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", f.read(),
        re.MULTILINE).group(1))


class ClusterProgramTest(absltest.TestCase):

  def test_every_task_gets_the_results_of_the_chief(self):
    folder = self.create_tempdir().full_path
    program = self.create_tempfile(
        os.path.join(folder, "train.py"), _program()).full_path
    model_dir = os.path.join(folder, "model")
    with launches.Launch(
        "--workers=1", "--ps=1", "--model_dir=" + model_dir, program,
        # No Keras 3, which loads scikit-learn and Matplotlib in each task.
        variables={"TF_USE_LEGACY_KERAS": "1"}) as launch:
      status, output, errors = launch.finish()
      self.assertEmpty(launch.left())
    self.assertEqual(0, status, errors)
    for task in ("chief", "worker", "ps"):
      self.assertRegex(
          output, r"\[{0}:0\] step 40[012] of iteration 1\n(.*\n)*"
          r"\[{0}:0\] accuracy above 80%: True".format(task))
    exported, = glob.glob(os.path.join(model_dir, "export", "best", "*"))
    self.assertTrue(os.path.exists(os.path.join(exported, "saved_model.pb")))


if __name__ == "__main__":
  absltest.main()
