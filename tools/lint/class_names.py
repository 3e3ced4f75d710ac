# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds classes with one name: one name has one meaning in the whole library.
"""

import ast
import collections


def check(sources):
  """Checks the texts of Python files.

  Args:
    sources: dict from path to text.

  Returns:
    A sorted list of str: each name that several classes have, also behind an
    underscore, and where they are.
  """
  places_by_name = collections.defaultdict(list)
  for path, text in sources.items():
    for node in ast.walk(ast.parse(text)):
      if isinstance(node, ast.ClassDef):
        places_by_name[node.name.lstrip("_")].append(f"{path}:{node.lineno}")
  return sorted(f"{name}: {', '.join(sorted(places))}"
                for name, places in places_by_name.items() if len(places) > 1)
