# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of typed values as JSON."""

import dataclasses
import enum
import json
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

from absl.testing import absltest
from absl.testing import parameterized
from adanet import typed_json
from adanet.testing import hypothesis_profile
import hypothesis
from hypothesis import strategies as st


class Color(enum.Enum):
  RED = "red"
  BLUE = "blue"


class Part(NamedTuple):
  name: str
  figures: Optional[Tuple[Union[int, float], ...]] = None


@dataclasses.dataclass
class Whole:
  color: Color
  parts: Tuple[Part, ...]
  count: Optional[int] = None
  secs: float = 0.
  done: bool = False
  by_name: Optional[Dict[str, Part]] = None
  anything: Any = None


_TEXTS = hypothesis_profile.TEXTS
_PARTS = st.builds(Part, _TEXTS, st.none() | st.lists(
    st.integers() | st.floats(-9., 9.)).map(tuple))
_WHOLE = {"color": "red", "parts": [{"name": "a"}]}


class TypedJsonTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=10)
  @hypothesis.given(st.builds(
      Whole, st.sampled_from(Color), st.lists(_PARTS).map(tuple),
      st.none() | st.integers(), st.floats(), st.booleans(),
      st.none() | st.dictionaries(_TEXTS, _PARTS),
      st.none() | st.lists(_TEXTS)))
  def test_round_trip(self, value):
    text = json.dumps(typed_json.to_json(Whole, value), allow_nan=False)
    self.assertEqual(repr(value), repr(
        typed_json.from_json(Whole, typed_json.loads(text))))

  @parameterized.named_parameters(
      ("enum", {"color": "green"},
       r"color is 'green', not one of 'red', 'blue'"),
      ("list_as_enum", {"color": ["red"]}, r"color is \['red'\], not one of"),
      ("no_list", {"parts": {}}, "parts is {}, not a list"),
      ("no_object", {"parts": [1]}, r"parts\[0\] is 1, not an object"),
      ("lacks", {"parts": [{}]}, r"parts\[0\] lacks name"),
      ("unknown", {"b": 1, "a": 1}, "it has the unknown a, b"),
      ("string", {"parts": [{"name": None}]},
       r"parts\[0\].name is None, not a string"),
      ("bool_as_int", {"count": True}, "count is True, not an integer or null"),
      ("number", {"secs": "1"}, "secs is '1', not a number"),
      ("null_as_number", {"secs": None}, "secs is None, not a number"),
      ("huge", {"secs": 10**400}, r"secs is 10+\.\.\., not a number"),
      ("bool", {"done": 1}, "done is 1, not true or false"),
      ("int_or_float", {"parts": [{"name": "a", "figures": [1, "2"]}]},
       r"parts\[0\].figures\[1\] is '2', not an integer or a number"),
      ("in_dict", {"by_name": {"x": {}}}, r"by_name\['x'\] lacks name"))
  def test_wrong_content(self, changes, message):
    with self.assertRaisesRegex(ValueError, "^" + message):
      typed_json.from_json(Whole, dict(_WHOLE, **changes))

  def test_unknown_fields_of_a_newer_version(self):
    content = {"color": "blue", "new": 1, "parts": [{"name": "a", "new": 2}]}
    self.assertEqual(Whole(Color.BLUE, (Part("a"),)), typed_json.from_json(
        Whole, content, skips_unknown=True))

  @parameterized.parameters(
      ("", "not JSON: Expecting value"), ("[1]", r"it is \[1\], not an object"),
      ("null", "it is None, not an object"),
      ("[" * 100000, "it is nested too deep|not JSON"))
  def test_text_without_an_object(self, text, message):
    with self.assertRaisesRegex(ValueError, f"^{message}"):
      typed_json.loads(text)


if __name__ == "__main__":
  absltest.main()
