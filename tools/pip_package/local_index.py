# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A package index on this machine, for tests.

`local_index check FILE...` checks wheels and sdists as an index does, and prints
the pages of the packages. `local_index serve FOLDER USERNAME PASSWORD` serves a
folder, and prints its port. After that it runs `publish` for each line of its
input, [arguments, environment], and prints [exit code, output], all in JSON.
"""

import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
from wsgiref import simple_server

import pypiserver
from readme_renderer import markdown
from tools.pip_package import publish
from twine import package
from twine.commands import check as twine_check

# A process that is forked need not import twine, which is slow.
_FORK = multiprocessing.get_context("fork")


def check(*paths):
  # This checks the metadata with packaging.metadata. It renders no Markdown.
  if twine_check.check(paths, strict=True):
    sys.exit(1)
  for path in paths:
    metadata = package.PackageFile.from_filename(path, comment=None).metadata
    html = markdown.render(metadata["description"])
    if html is None:
      sys.exit(f"{path}: the README cannot be rendered.")
    print(html)


def _publish(args, env, output):
  os.dup2(output, 1)
  os.dup2(output, 2)
  sys.argv[1:] = args
  os.environ.update(env)
  publish.run()


def serve(folder, *credentials):
  app = pypiserver.app(
      roots=[pathlib.Path(folder)], authenticate=["update"],
      auther=lambda *login: login == credentials, disable_fallback=True)
  server = simple_server.make_server("127.0.0.1", 0, app)
  _FORK.Process(target=server.serve_forever, daemon=True).start()
  print(server.server_port, flush=True)
  for line in sys.stdin:
    with tempfile.TemporaryFile() as output:
      process = _FORK.Process(
          target=_publish, args=json.loads(line) + [output.fileno()])
      process.start()
      process.join()
      output.seek(0)
      print(json.dumps([process.exitcode, output.read().decode()]), flush=True)


if __name__ == "__main__":
  {"check": check, "serve": serve}[sys.argv[1]](*sys.argv[2:])
