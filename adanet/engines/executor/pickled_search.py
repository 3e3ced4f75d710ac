# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search as bytes: what a driver sends to its workers.

They are two pickles. The first one has all that figures depend on: builders,
input, hooks, rules. The second one has the rest: folders, limits, placement.
"""

import hashlib
import io
import pickletools
import re
import sys
from typing import Any, Tuple

from adanet.training import setup as setup_lib
from adanet.training import trainer

# cloudpickle gives one by chance to each class that it pickles by its content.
_CHANCE_ID = re.compile(r"[0-9a-f]{32}")


def dumps(setup: setup_lib.SearchSetup, request: trainer.Request) -> bytes:
  """Returns a search as bytes.

  Args:
    setup: `SearchSetup`.
    request: `Request`. Its saving listeners stay here.

  Raises:
    ValueError: something cannot be sent. The message names it.
  """
  import cloudpickle  # pylint: disable=g-import-not-at-top

  of_model, rest_of_model = _split(
      setup, "search", "rules", "report_materializer")
  of_request, rest_of_request = _split(
      request._replace(saving_listeners=()), "input_fn", "hooks")
  try:
    return (cloudpickle.dumps((of_model, of_request)) +
            cloudpickle.dumps((rest_of_model, rest_of_request)))
  except Exception as error:  # pylint: disable=broad-except
    given = dict(
        setup.search._asdict(), report_materializer=setup.report_materializer,
        config=setup.config, **of_request, **setup.rules._asdict())
    for name, value in given.items():
      try:
        cloudpickle.dumps(value)
      except Exception as cause:  # pylint: disable=broad-except
        raise ValueError(
            f"{name}={value!r} cannot be sent to a worker of the executor: "
            f"{cause}. Make in the function itself what it cannot bring along, "
            "such as locks, sessions and open files") from cause
    raise ValueError(
        "the search cannot be sent to a worker of the executor: "
        f"{error}") from error


def _split(values, *names):
  """Returns the fields with some names, and the others."""
  others = values._asdict()
  return {name: others.pop(name) for name in names}, others


def loads(data: bytes) -> Tuple[setup_lib.SearchSetup, trainer.Request]:
  """Returns the search that `dumps` was called with."""
  import cloudpickle  # pylint: disable=g-import-not-at-top

  file = io.BytesIO(data)
  setup, request = (dict(some, **others) for some, others in zip(
      cloudpickle.load(file), cloudpickle.load(file)))
  return setup_lib.SearchSetup(**setup), trainer.Request(**request)


def digest(data: bytes) -> str:
  """Returns a text that is the same in another process for the same figures.

  It changes with what `dumps` was given, and with the files of the modules that
  this names, but not with the files which those import. The order of a set of
  strings is another one in each process, and then so is the text.

  Args:
    data: of `dumps`.
  """
  result = hashlib.sha256()
  modules = set()
  for opcode, value, _ in pickletools.genops(data):  # Of the first pickle.
    if isinstance(value, str):
      if _CHANCE_ID.fullmatch(value):
        continue
      if value in sys.modules:
        modules.add(value)
    result.update(opcode.name.encode())
    result.update(value if isinstance(value, (bytes, bytearray)) else
                  repr(value).encode())
  for name in sorted(modules - {"__main__"}):  # It is pickled by its content.
    result.update(_source(sys.modules[name]))
  return result.hexdigest()


def _source(module: Any) -> bytes:
  """Returns the text of a module; none for one that is not of Python."""
  path = getattr(module, "__file__", None) or ""
  if not path.endswith(".py"):
    return b""
  try:
    with open(path, "rb") as f:
      return f.read()
  except OSError:  # It is in an archive.
    return b""
