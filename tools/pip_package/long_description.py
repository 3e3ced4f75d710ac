# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes the relative links of a Markdown file absolute, for a package index.

  long_description FILE OUTPUT URL VERSION
"""

import pathlib
import re
import sys
from urllib import parse

# Code stays as it is. The second group is the target of `[text](target)`,
# `[name]: target`, `href="target"` or `src="target"`.
_CODE_OR_LINK = re.compile(
    r"^```.*?^```|`[^`\n]*`"
    r"|(\]\(|^\[[^\]\n]+\]:\s+|(?:href|src)=\")([^\s)\"]+)",
    re.DOTALL | re.MULTILINE)

_IMAGE = re.compile(r"\.(gif|jpe?g|png|svg)$")


def with_absolute_links(markdown, url, version):
  """Returns a text with absolute links to the files of a version.

  Args:
    markdown: str, the text. Its links are relative to the repository's root.
    url: str, where the repository is hosted, in the way of GitHub: the file at
      PATH is shown at URL/blob/TAG/PATH, and an image is at URL/raw/TAG/PATH.
    version: str, the version. Its tag is "v" and the version.
  """

  def replace(match):
    prefix, target = match.groups()
    if not prefix or target.startswith("#"):
      return match.group()
    view = "raw" if _IMAGE.search(target) else "blob"
    root = f"{url.rstrip('/')}/{view}/v{version}/"
    return prefix + parse.urljoin(root, target)

  return _CODE_OR_LINK.sub(replace, markdown)


def main(source, output, url, version):
  markdown = pathlib.Path(source).read_text(encoding="utf-8")
  pathlib.Path(output).write_text(
      with_absolute_links(markdown, url, version), encoding="utf-8")


if __name__ == "__main__":
  main(*sys.argv[1:])
