# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of architectures and of the text of their files."""

import json

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import architecture
from adanet.testing import hypothesis_profile
import hypothesis
from hypothesis import strategies as st

_TEXTS = hypothesis_profile.TEXTS

# What AdaNet 0.8.0 wrote for these.
_WRITTEN_BY_ADANET = (
    ("grown",
     architecture.Architecture(
         "dnn_grow", "complexity_regularized",
         ((0, "linear"), (1, "d\u00e9p\"th_2")), (0, 2), 120),
     '{"ensemble_candidate_name": "dnn_grow", "ensembler_name": '
     '"complexity_regularized", "global_step": 120, "replay_indices": [0, 2], '
     '"subnetworks": [{"builder_name": "linear", "iteration_number": 0}, '
     '{"builder_name": "d\\u00e9p\\"th_2", "iteration_number": 1}]}'),
    ("empty",
     architecture.Architecture("all", "mean", global_step=0),
     '{"ensemble_candidate_name": "all", "ensembler_name": "mean", '
     '"global_step": 0, "replay_indices": [], "subnetworks": []}'),
)

_COMPLETE = {
    "ensemble_candidate_name": "all",
    "ensembler_name": "mean",
    "global_step": 1,
    "replay_indices": [0],
    "subnetworks": [{"builder_name": "dnn", "iteration_number": 0}],
}


def _changed(**changes):
  return json.dumps(dict(_COMPLETE, **changes))


def _without(key):
  return json.dumps({k: v for k, v in _COMPLETE.items() if k != key})


class ArchitectureTest(parameterized.TestCase):

  @parameterized.named_parameters(*_WRITTEN_BY_ADANET)
  def test_text_is_that_of_adanet(self, value, text):
    self.assertEqual(text, value.to_json())
    self.assertEqual(value, architecture.Architecture.from_json(text, "a.json"))

  @hypothesis.given(st.builds(
      architecture.Architecture, _TEXTS, _TEXTS,
      st.lists(st.tuples(st.integers(0, 9), _TEXTS)).map(tuple),
      st.lists(st.integers(0, 9)).map(tuple), st.integers(0, 10**12)))
  def test_from_json_is_the_inverse(self, value):
    self.assertEqual(
        value, architecture.Architecture.from_json(value.to_json(), "a.json"))

  def test_file_of_an_older_version_has_no_replay_indices(self):
    value = architecture.Architecture.from_json(
        _without("replay_indices"), "a.json")
    self.assertEqual((), value.replay_indices)

  def test_subnetworks_of(self):
    value = architecture.Architecture("c", "e", ((0, "b"), (0, "a"), (2, "c")))
    self.assertEqual(
        [("b", "a"), (), ("c",)], [value.subnetworks_of(t) for t in range(3)])

  def test_without_global_step_has_no_text(self):
    with self.assertRaisesRegex(ValueError, "global_step=None: .* 'dnn_grow'"):
      architecture.Architecture("dnn_grow", "mean").to_json()

  @parameterized.named_parameters(
      ("cut_short", json.dumps(_COMPLETE)[:-5], "not JSON"),
      ("no_subnetworks", _without("subnetworks"), "it lacks subnetworks"),
      ("step_is_a_bool", _changed(global_step=True),
       "global_step is True, not an integer"),
      ("subnetwork_has_no_iteration",
       _changed(subnetworks=[{"builder_name": "dnn"}]),
       r"subnetworks\[0\] lacks iteration_number"))
  def test_corrupt_file(self, text, problem):
    with self.assertRaisesRegex(
        architecture.ArchitectureError,
        "^/m/architecture-0.json: .*" + problem) as context:
      architecture.Architecture.from_json(text, "/m/architecture-0.json")
    self.assertNotIn("\n", str(context.exception))


if __name__ == "__main__":
  absltest.main()
