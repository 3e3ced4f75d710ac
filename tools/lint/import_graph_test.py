# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the graph of imports, on trees with a fault."""

from absl.testing import absltest
from tools.lint import import_graph


class ImportGraphTest(absltest.TestCase):

  def test_graph(self):
    edges = import_graph.graph({
        "adanet/__init__.py": "import typing\nif typing.TYPE_CHECKING:\n"
                              "  from adanet.a import b\n",
        "adanet/a/__init__.py": "",
        "adanet/a/b.py": "from adanet import a, c as d\nimport numpy.a\n",
        "adanet/c.py": "def f():\n  from adanet.a.b import g\n"})
    self.assertEqual(
        {"adanet": set(), "adanet.a": set(), "adanet.a.b": {
            "adanet.a", "adanet.c"}, "adanet.c": {"adanet.a.b"}}, edges)
    self.assertEqual([("adanet.a.b", "adanet.c", "adanet.a.b")],
                     import_graph.circles(edges))

  def test_circles(self):
    edges = dict(a="b", b="cd", c="a", d="e", e="", f="ab", g="h", h="g")
    self.assertEqual(
        [tuple("abca"), tuple("ghg")],
        import_graph.circles({key: set(to) for key, to in edges.items()}))

  def test_mutual_folders(self):
    edges = {"adanet.a.x": {"adanet.b.y", "adanet.c.z", "adanet"},
             "adanet.a.w": {"adanet.a.x"}, "adanet.b.y": set(),
             "adanet.b.v": {"adanet.a.w"}, "adanet.c.z": set(),
             "adanet": {"adanet.a.x"}}
    self.assertEqual(
        ["adanet.a.x imports adanet.b.y, and adanet.b.v imports adanet.a.w"],
        import_graph.mutual_folders(edges))

  def test_arrows(self):
    edges = {"adanet.a.x": {"adanet.b.y", "adanet.b.inside.z", "adanet.bc"},
             "adanet.ab.w": {"adanet.b.y"}, "adanet.b.y": {"adanet.a.x"}}
    self.assertEqual(
        ["adanet.a.x imports adanet.b.inside.z"],
        import_graph.arrows(edges, "adanet.a", "adanet.b", ["adanet.b.y"]))


if __name__ == "__main__":
  absltest.main()
