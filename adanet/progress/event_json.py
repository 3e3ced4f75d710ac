# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Events of training as JSON, one line each, for another process.

    {"event": "Stopped", "iteration_number": 0, "name": "t0_linear", ...}
"""

import json
from typing import Any, Dict

from adanet import typed_json
from adanet.core import events

_ANY_EVENT: Any = events.Event
_KINDS: Dict[str, Any] = {
    kind.__name__: kind for kind in _ANY_EVENT.__args__}


def dumps(event: events.Event) -> str:
  """Returns an event as one line, without its end.

  Raises:
    TypeError: it is no event.
  """
  kind = type(event)
  if _KINDS.get(kind.__name__) is not kind:
    raise TypeError(f"event={event!r}: expected one of adanet.core.events.")
  return json.dumps(
      dict({"event": kind.__name__}, **typed_json.to_json(kind, event)),
      allow_nan=False)


def loads(line: str) -> events.Event:
  """Returns the event of a line.

  Raises:
    ValueError: the line is not from `dumps`.
  """
  try:
    content = typed_json.loads(line)
    name = content.pop("event", None)
    if not isinstance(name, str) or name not in _KINDS:
      raise ValueError(f"event is {name!r}, not one of {', '.join(_KINDS)}")
    return typed_json.from_json(_KINDS[name], content)
  except (ValueError, RecursionError) as e:
    text = repr(line)
    raise ValueError("line={}: {}. Expected an event of adanet.".format(
        text if len(text) <= 200 else text[:197] + "...",
        " ".join(str(e).split()))) from e
