# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the README's picture is what adanet.history draws today."""

from absl.testing import absltest
from docs import pictures
import matplotlib
import runfiles


class PicturesTest(absltest.TestCase):

  def test_picture_of_the_readme(self):
    if matplotlib.__version_info__ < (3, 11):
      self.skipTest("an older Matplotlib writes the same picture otherwise")
    folder = self.create_tempdir().full_path
    pictures.draw_all(folder)
    drawn = open(folder + "/digits.svg", encoding="utf-8").read()
    path = runfiles.Create().Rlocation("adanet/docs/digits.svg")
    self.assertEqual(
        open(path, encoding="utf-8").read(), drawn,
        "docs/digits.svg: expected the picture that adanet.history draws. Run "
        "`tools/bazelw build //docs` and copy "
        "bazel-bin/docs/docs_html/_images/digits.svg there.")


if __name__ == "__main__":
  absltest.main()
