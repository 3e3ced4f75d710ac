# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds types in another style than `from typing import Any` and annotations.
"""

import ast
import io
import re
import tokenize


def check(source):
  """Checks the text of a Python file.

  Args:
    source: str.

  Returns:
    A sorted list of `(line number, message)`.
  """
  # Most files have neither text, and parsing them all takes seconds.
  problems = []
  if re.search(r"\bimport .*\btyping\b", source):
    problems += [
        (node.lineno, "use `from typing import ...`")
        for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import)
        for name in node.names if name.name == "typing"]
  if "type:" in source:
    problems += [
        (token.start[0], "use an annotation in place of a comment")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and
        token.string.lstrip("# ").startswith("type:")]
  return sorted(problems)
