# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fresh virtual environments, for tests of what a user installs."""

import glob
import os
import subprocess
import sys

import pip

_TIMEOUT_SECS = 240


class VirtualEnvironment(object):
  """A virtual environment of this Python, in which nothing is installed.

  Programs in it do not see the import path and the settings of this program.
  pip works on it from outside, so this Python needs no pip.

  Attributes:
    python: str, the path of its interpreter.
    site_packages: str, the path of the folder that pip installs into.
  """

  def __init__(self, folder, import_path=()):
    """Makes the environment.

    Args:
      folder: str, the folder to make it in.
      import_path: sequence of str, more folders to import from. For pip, the
        distributions in them are installed.
    """
    self.python = os.path.join(folder, "bin", "python3")
    self._env = {
        "HOME": folder,
        "PATH": os.environ["PATH"],
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_COMPILE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder],
                   timeout=_TIMEOUT_SECS, check=True)
    self.site_packages, = glob.glob(
        os.path.join(folder, "lib", "python*", "site-packages"))
    with open(os.path.join(self.site_packages, "test.pth"), "w") as f:
      f.write("\n".join(import_path))

  def command(self, name):
    """Returns the path of an installed command."""
    return os.path.join(os.path.dirname(self.python), name)

  def run(self, command, env=None):
    """Runs a program.

    Args:
      command: list of str.
      env: dict from str to str, what to add to the program's environment.

    Returns:
      Its exit code, and its output and errors as one str.
    """
    process = subprocess.run(
        command, cwd=self._env["HOME"], env=dict(self._env, **env or {}),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        timeout=_TIMEOUT_SECS, check=False)
    return process.returncode, process.stdout

  def execute(self, program, **env):
    """Runs the text of a program in Python. Returns what `run` returns."""
    return self.run([self.python, "-W", "ignore", "-c", program], env=env)

  def pip(self, *args, **env):
    """Runs pip on this environment.

    Args:
      *args: str, its arguments.
      **env: str, what to add to its environment.

    Returns:
      Its output as str.

    Raises:
      RuntimeError: it failed.
    """
    code, output = self.run(
        [self.python, os.path.dirname(pip.__file__)] + list(args), env=env)
    if code != 0:
      raise RuntimeError("pip {}: exit code {}: {}".format(
          " ".join(args), code, output))
    return output
