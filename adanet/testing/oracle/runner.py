# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the program in a process of its own, with one of the two packages."""

import os
import sys
import tempfile

from adanet.testing import processes
from adanet.testing.oracle import figures
import runfiles

_HERE = os.path.dirname(__file__)
_REFERENCE = "adanet_reference/site-packages/adanet-0.8.0/adanet"
_TESTDATA = "adanet/adanet/testing/oracle/testdata"


def testdata(name):
  """Returns the path of a file or folder of test data."""
  return os.path.join(runfiles.Create().Rlocation(_TESTDATA), name)


def has_reference():
  """Returns whether AdaNet 0.8.0 is here: with TensorFlow 1.15 only."""
  return os.path.isdir(runfiles.Create().Rlocation(_REFERENCE) or "")


def _import_path(folder):
  """Makes a package `adanet` of links, with this folder in AdaNet 0.8.0."""
  theirs = runfiles.Create().Rlocation(_REFERENCE)
  os.makedirs(os.path.join(folder, "adanet", "testing"))
  for name in os.listdir(theirs):
    os.symlink(
        os.path.join(theirs, name), os.path.join(folder, "adanet", name))
  os.symlink(_HERE, os.path.join(folder, "adanet", "testing", "oracle"))
  return folder


class Program:
  """A run of the program, which begins at once."""

  def __init__(self, is_reference, arguments=()):
    """Starts the program.

    Args:
      is_reference: bool, whether it imports AdaNet 0.8.0.
      arguments: list of str, flags of `program`.
    """
    self._folder = tempfile.TemporaryDirectory()
    self._output = os.path.join(self._folder.name, "output.json")
    env = processes.python_environment()
    if is_reference:
      env["PYTHONPATH"] = os.pathsep.join([
          _import_path(os.path.join(self._folder.name, "path")),
          env["PYTHONPATH"]])
    self._program = processes.Program(
        [sys.executable, os.path.join(_HERE, "program.py"),
         "--output=" + self._output] + list(arguments), env, stdout=None)

  def figures(self):
    """Waits for the end, and returns the figures of each setting.

    Raises:
      RuntimeError: if the program failed; the message has its errors.
    """
    with self._folder, self._program as program:
      if program.process.wait():
        raise RuntimeError(program.log)
      return figures.read(self._output)
