# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Holds the golden file of `RunConfig` against the TensorFlow that it is of."""

import os
from unittest import mock

from absl.testing import absltest
from adanet.tf_compat import make_run_config_golden
import runfiles

_GOLDEN = "adanet/adanet/tf_compat/testdata/estimator_run_config.json"


class MakeRunConfigGoldenTest(absltest.TestCase):

  @absltest.skipUnless(make_run_config_golden.is_possible(),
                       "tf.estimator, which it is made with, is of 2.15.1")
  def test_is_what_tf_estimator_does(self):
    with open(runfiles.Create().Rlocation(_GOLDEN), encoding="utf-8") as f:
      golden = f.read()
    with mock.patch.dict(os.environ):
      made = make_run_config_golden.make()
    self.assertEqual(golden.splitlines(), made.splitlines())


if __name__ == "__main__":
  absltest.main()
