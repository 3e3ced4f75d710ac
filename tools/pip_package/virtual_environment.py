# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fresh virtual environments, for tests of what a user installs."""

import os
import re
import subprocess
import sys

import pip

_TIMEOUT_SECS = 240


def fetched_packages():
  """Returns the folders of TensorFlow and of all that this program imports."""
  return [path for path in sys.path
          if re.search(r"/adanet_pypi_tf\d_\d+/", path)]


class VirtualEnvironment:
  """A virtual environment of this Python, in which nothing is installed.

  Programs in it do not see the import path and the settings of this program.
  pip works on it from outside, so this Python needs no pip.

  Attributes:
    bin: str, the folder of the interpreter and of the installed commands.
    site_packages: str, the folder that pip installs into.
  """

  def __init__(self, folder, import_path=()):
    """Makes the environment.

    Args:
      folder: str, the folder to make it in.
      import_path: sequence of str, more folders to import from. For pip, the
        distributions in them are installed.
    """
    self._folder = folder
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder],
                   timeout=_TIMEOUT_SECS, check=True)
    self.bin = os.path.join(folder, "bin")
    self.site_packages = os.path.join(
        folder, "lib", "python{}.{}".format(*sys.version_info), "site-packages")
    with open(os.path.join(self.site_packages, "test.pth"), "w") as f:
      f.write("\n".join(import_path))

  def run(self, command, *args, **env):
    """Runs an installed command.

    Args:
      command: str, its name.
      *args: str, its arguments.
      **env: str, its environment, apart from `HOME` and `PATH`.

    Returns:
      Its exit code, and its output and errors as one str.
    """
    process = subprocess.run(
        [os.path.join(self.bin, command)] + list(args), cwd=self._folder,
        env=dict(HOME=self._folder, PATH=os.environ["PATH"], **env),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        timeout=_TIMEOUT_SECS, check=False)
    return process.returncode, process.stdout

  def python(self, program, **env):
    """Runs a Python program, given as its text; returns what `run` returns."""
    return self.run("python3", "-W", "ignore", "-c", program, **env)

  def pip(self, *args, **env):
    """Runs pip on this environment; returns its output, as str.

    Raises:
      RuntimeError: it failed.
    """
    code, output = self.run(
        "python3", os.path.dirname(pip.__file__), "--no-cache-dir",
        "--disable-pip-version-check", *args, PIP_CONFIG_FILE=os.devnull, **env)
    if code != 0:
      raise RuntimeError(f"pip {' '.join(args)}: {output}")
    return output
