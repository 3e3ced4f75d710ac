# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Installs a locked requirements file, each distribution into its own folder.

The repository rule `pip_packages` runs this in the folder of its repository,
with the interpreter that the packages are for. A target that depends on a
distribution sees only the files of that distribution.
"""

import argparse
import collections
import csv
import email
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from pip._vendor.packaging import requirements as requirements_lib

_PIP_ERROR = re.compile(r"^ERROR: (.*)", re.MULTILINE)
_NO_CONNECTION = re.compile(r"^WARNING: .*connection broken by (.*)",
                            re.MULTILINE)
_HASH_MISMATCH = re.compile(
    r"^ +(\S+==\S+) .*?:\n +Expected sha256 (\w+)(?:.|\n)*?Got +(\w+)",
    re.MULTILINE)

_HEADER = """\
load("@rules_python//python:defs.bzl", "py_library")

package(default_visibility = ["//visibility:public"])
"""

# Bazel also puts the parent of the folder on the import path. A folder's name has
# a version in it, so that Python cannot import it.
_LIBRARY = """
py_library(
    name = "{name}",
    data = ["{folder}"],
    imports = ["{folder}"],
    deps = {deps},
)
"""

_ALIAS = """
alias(
    name = "{name}",
    actual = ":{actual}",
)
"""

Distribution = collections.namedtuple("Distribution", "name folder requires")


class InstallError(Exception):
  """An installation failed; the message is one line."""


def _target_name(distribution_name):
  return re.sub(r"[-_.]+", "_", distribution_name).lower()


def _explain(pip_output):
  """Returns the one line of pip's output that says what went wrong."""
  mismatch = _HASH_MISMATCH.search(pip_output)
  if mismatch:
    return (f"the package index served {mismatch.group(1)} with sha256 "
            f"{mismatch.group(3)}, and the file expects {mismatch.group(2)}. "
            "Find out which is right before running third_party/py/lock.")
  no_connection = _NO_CONNECTION.search(pip_output)
  if no_connection:
    return (f"pip does not reach a package index: {no_connection.group(1)} "
            "Check the index, the proxy and the certificates that pip is set "
            "up with.")
  errors = _PIP_ERROR.findall(pip_output)
  return "pip: " + (errors[-1] if errors else pip_output.strip()[-300:])


def _pip_install(requirements, target, **environment):
  """Installs the requirements, without their dependencies.

  Args:
    requirements: path of a requirements file with versions and hashes.
    target: the folder to install into.
    **environment: environment variables for pip.

  Raises:
    InstallError: pip failed.
  """
  pip = subprocess.run(
      [
          sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
          "--require-hashes", "--no-build-isolation",
          "--no-warn-script-location", "--disable-pip-version-check",
          "--target", target, "--requirement", requirements
      ],
      env=dict(os.environ, **environment),
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      check=False)
  if pip.returncode != 0:
    raise InstallError(_explain(pip.stdout))


def _install_build_tools(requirements, target):
  """Installs what builds distributions without wheels, with the same hashes.

  Args:
    requirements: path of a requirements file with versions and hashes.
    target: the folder to install into.
  """
  with open(requirements, encoding="utf-8") as f:
    entries = f.read().replace("\\\n", " ").splitlines()
  with tempfile.NamedTemporaryFile("w", suffix=".txt") as build_tools:
    build_tools.write("\n".join(
        e for e in entries if e.startswith(("setuptools==", "wheel=="))))
    build_tools.flush()
    _pip_install(build_tools.name, target)


def _is_required(requirement):
  return requirement.marker is None or requirement.marker.evaluate(
      {"extra": ""})


def _move_distribution(site, dist_info, packages):
  """Moves one distribution's files out of the common folder.

  Args:
    site: the folder that pip installed everything into.
    dist_info: the distribution's `.dist-info` folder.
    packages: the folder that gets one folder a distribution.

  Returns:
    The `Distribution`.
  """
  with open(os.path.join(dist_info, "METADATA"), encoding="utf-8") as f:
    metadata = email.message_from_file(f)
  name = _target_name(metadata["Name"])
  folder = os.path.join(packages, f"{name}-{metadata['Version']}")
  with open(os.path.join(dist_info, "RECORD"), encoding="utf-8") as f:
    paths = [row[0] for row in csv.reader(f)]
  for path in paths:
    source = os.path.join(site, path)
    # Scripts and manual pages are outside the import path, and not needed.
    if path.startswith("..") or not os.path.exists(source):
      continue
    destination = os.path.join(folder, path)
    os.makedirs(os.path.dirname(destination), exist_ok=True)
    os.rename(source, destination)
  requires = map(requirements_lib.Requirement,
                 metadata.get_all("Requires-Dist") or [])
  return Distribution(
      name, folder,
      sorted({_target_name(r.name) for r in requires if _is_required(r)}))


def _build_file(distributions, substitutes):
  """Returns the text of the BUILD file for the installed distributions."""
  known = {d.name for d in distributions}
  aliases = {}
  for name, actual in substitutes.items():
    if name not in known and actual in known:
      aliases[name] = actual
      known.add(name)
  rules = [
      _LIBRARY.format(
          name=d.name,
          folder=d.folder,
          deps=json.dumps([":" + r for r in d.requires if r in known]))
      for d in distributions
  ]
  rules += [_ALIAS.format(name=n, actual=a) for n, a in aliases.items()]
  return _HEADER + "".join(sorted(rules))


def install(requirements, substitutes):
  """Installs the requirements below the working directory, with a BUILD file.

  Args:
    requirements: path of a requirements file with versions and hashes.
    substitutes: a target's name -> the target that stands in for it if no
      distribution of that name is installed; it may be an earlier key.

  Raises:
    InstallError: pip failed.
  """
  with open(requirements, encoding="utf-8") as f:
    wheels_only = "--only-binary :all:" in f.read()
  if not wheels_only:
    _install_build_tools(requirements, "build-tools")
  _pip_install(
      requirements, "together", PYTHONPATH=os.path.abspath("build-tools"))
  distributions = [
      # Tools such as hypothesis read every module of a project, and skip those
      # in folders of this name.
      _move_distribution("together", dist_info, "site-packages")
      for dist_info in sorted(glob.glob("together/*.dist-info"))
  ]
  shutil.rmtree("together")
  shutil.rmtree("build-tools", ignore_errors=True)
  with open("BUILD", "w", encoding="utf-8") as f:
    f.write(_build_file(distributions, substitutes))


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--requirements", required=True)
  parser.add_argument("--substitutes", type=json.loads, default={})
  args = parser.parse_args()
  try:
    install(args.requirements, args.substitutes)
  except InstallError as e:
    sys.exit(str(e))


if __name__ == "__main__":
  main()
