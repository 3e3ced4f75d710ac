# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests yaml_text with a reader of YAML."""

import textwrap

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import yaml_text
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import yaml

# A surrogate cannot be in a file.
_TEXT = st.one_of(
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=8),
    st.text("aAyn0_./:=-' \"\\#{}[],&*!|>%@`~?\n\t", max_size=6),
    st.sampled_from(
        ["", "yes", "No", "TRUE", "null", "~", "1", "1.5", "1e3", "0x1", "0o7",
         "1:30", "2026-01-01", "---", "...", "--ps=2", "-", "- a", "a: b",
         "a:b", "a #b", "a b", "a ", " a", "<<", "=", ".inf", "a:", "$(A)", "=a"]))
_DOCUMENTS = st.recursive(
    st.one_of(_TEXT, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_TEXT, inner, max_size=4)),
    max_leaves=10)


class YamlTextTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=500)
  @hypothesis.given(_DOCUMENTS)
  def test_reads_back(self, document):
    self.assertEqual(document, yaml.safe_load(yaml_text.dump(document)))

  @hypothesis.given(st.lists(_DOCUMENTS, min_size=1, max_size=3))
  def test_documents_read_back(self, documents):
    self.assertEqual(
        documents, list(yaml.safe_load_all(yaml_text.dump_all(documents))))

  def test_layout(self):
    self.assertEqual(
        textwrap.dedent("""\
            ---
            apiVersion: v1
            empty: {}
            none: []
            spec:
              image: registry/image:tag
              args:
              - --ps=2
              - 'two  words'
              - - nested
              ports:
              - name: grpc
                port: 2222
              clusterIP: None
              enabled: true
              answer: 'yes'
            """),
        yaml_text.dump_all([{
            "apiVersion": "v1",
            "empty": {},
            "none": [],
            "spec": {
                "image": "registry/image:tag",
                "args": ["--ps=2", "two  words", ["nested"]],
                "ports": [{"name": "grpc", "port": 2222}],
                "clusterIP": "None",
                "enabled": True,
                "answer": "yes",
            },
        }]))

  @parameterized.parameters((1.5,), (b"a",), ((1, 2),))
  def test_refuses_other_types(self, document):
    with self.assertRaisesRegex(TypeError, "expected str, int"):
      yaml_text.dump(document)


if __name__ == "__main__":
  absltest.main()
