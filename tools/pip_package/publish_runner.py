# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs `publish` many times, and imports twine, which is slow, only once.

Reads a line for each run, [arguments, environment], and answers with
[exit code, output], both in JSON.
"""

import json
import os
import sys
import tempfile

from tools.pip_package import publish


def main():
  for line in sys.stdin:
    args, env = json.loads(line)
    with tempfile.TemporaryFile() as output:
      child = os.fork()
      if child == 0:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        os.environ.update(env)
        sys.argv[1:] = args
        publish.run()
      _, status = os.waitpid(child, 0)
      output.seek(0)
      print(json.dumps([os.WEXITSTATUS(status), output.read().decode()]),
            flush=True)


if __name__ == "__main__":
  main()
