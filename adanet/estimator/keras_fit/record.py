# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The record of the `EnsembleSearch` in a directory, to go on with the same."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from adanet import tf_compat
from adanet.estimator.keras_fit import arrangement as arrangement_lib
from adanet.tf_compat import files

_FILE = "ensemble_search.json"
_VERSION = 1


class UnknownObject(NamedTuple):
  """An object of a user's program that the record cannot make again.

  Attributes:
    name: str, that of its class or function.
  """
  name: str


def dumped(value: Any) -> Any:
  """Returns an argument of `Model.compile` as JSON has it."""
  if value is None or isinstance(value, (str, int, float, bool)):
    return value
  if isinstance(value, dict):
    return {"dict": {key: dumped(one) for key, one in value.items()}}
  if isinstance(value, (list, tuple)):
    return [dumped(one) for one in value]
  # Keras leaves some options out of configs, such as the delta of Huber.
  options = getattr(value, "_fn_kwargs", None)
  if hasattr(value, "get_config"):
    try:
      config = tf_compat.keras_3.saving.serialize_keras_object(value)
      found = {"object": json.loads(json.dumps(config))}
      if getattr(loaded(found), "_fn_kwargs", None) == options:
        return found
    except (TypeError, ValueError, NotImplementedError):
      pass
  name = getattr(value, "__name__", type(value).__name__)
  if options:
    name += f"({options})"
  if not options and getattr(value, "__module__", "").startswith("keras."):
    return name
  return {"own": name}


def loaded(value: Any) -> Any:
  """Returns an argument of `Model.compile` that was dumped.

  Objects of the user's program that Keras does not know are `UnknownObject`s.
  """
  if isinstance(value, list):
    return [loaded(one) for one in value]
  if not isinstance(value, dict):
    return value
  if "dict" in value:
    return {key: loaded(one) for key, one in value["dict"].items()}
  if "own" in value:
    return UnknownObject(value["own"])
  try:
    return tf_compat.keras_3.saving.deserialize_keras_object(value["object"])
  except (TypeError, ValueError):
    return UnknownObject(value["object"].get("class_name", "an object"))


def unknown_in(value: Any) -> Optional[str]:
  """Returns the name of an `UnknownObject` in an argument, or None."""
  if isinstance(value, UnknownObject):
    return value.name
  parts = (list(value.values()) if isinstance(value, dict) else
           list(value) if isinstance(value, list) else [])
  return next(filter(None, map(unknown_in, parts)), None)


class SearchRecord(NamedTuple):
  """The record of a search in its directory.

  Attributes:
    seed: int.
    arguments: dict of the arguments `loss`, `metrics`, `loss_weights` and
      `optimizer`, as `dumped`.
    arrangement: `Arrangement`.
    data: dict from an argument of `fit` to its description, with a digest.
    models: dict from a name to a digest.
    max_iteration_steps: int.
  """
  seed: int
  arguments: Dict[str, Any]
  arrangement: arrangement_lib.Arrangement
  data: Dict[str, str]
  models: Dict[str, str]
  max_iteration_steps: int

  def write(self, directory: str) -> None:
    """Writes it to a directory."""
    files.write_text(os.path.join(directory, _FILE), json.dumps(
        dict(self._asdict(), version=_VERSION,
             arrangement=self.arrangement._asdict()), indent=1))

  def differences(self, now: "SearchRecord") -> List[str]:
    """Returns the differences from the search before, in words."""
    found = []
    for name in ("loss", "loss_weights", "optimizer"):
      before, after = self.arguments.get(name), now.arguments.get(name)
      if before != after:
        found.append(_changed(name, _text(before), _text(after)))
    if self.seed != now.seed:
      found.append(_changed("seed", str(self.seed), str(now.seed)))
    for name in sorted({*self.data, *now.data}):
      before, after = self.data.get(name), now.data.get(name)
      if before != after:
        found.append(_changed(name, _without_digest(before),
                              _without_digest(after)))
    if set(self.models) != set(now.models):
      found.append(_changed("models", ", ".join(sorted(self.models)),
                            ", ".join(sorted(now.models))))
    else:
      found += [f"models[{name!r}] makes another model" for name in self.models
                if self.models[name] != now.models[name]]
    if self.arrangement != now.arrangement and not found:
      found.append("inputs or outputs have other names")
    return found


def _text(value):
  if isinstance(value, dict) and "object" in value:
    return str(value["object"].get("class_name"))
  return repr(value)


def _without_digest(text):
  return "none" if text is None else text.rpartition("] ")[0] + "]" if (
      "] " in text) else text


def _changed(name, before, after):
  if before == after:
    return f"{name} has other values"
  return f"{name}: {before} before, {after} now"


def read(directory: str) -> Optional[SearchRecord]:
  """Returns the record of a directory; None if it has no such search.

  Raises:
    ValueError: a later version of adanet wrote it.
  """
  text = files.read_text(os.path.join(directory, _FILE))
  if text is None:
    return None
  values: Dict[str, Any] = json.loads(text)
  if values.pop("version") != _VERSION:
    raise ValueError(f"directory={directory!r} has a search of another version "
                     "of adanet: use that version, or another directory.")
  parts: Dict[str, Any] = {
      name: tuple(one) if isinstance(one, list) else one
      for name, one in values["arrangement"].items()}
  values["arrangement"] = arrangement_lib.Arrangement(**parts)
  return SearchRecord(**values)
