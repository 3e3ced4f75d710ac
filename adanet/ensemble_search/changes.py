# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether functions still make the networks that have ended.

Functions are compared by value: what counts is that the saved values fit, and
that the predictions for held-out rows are the recorded ones. What has not ended
binds nobody.
"""

from adanet import log
from adanet import messages
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import rounds as rounds_lib
from adanet.ensemble_search import rows as rows_lib


def check_functions(directory: files.Directory, rounds: rounds_lib.SearchRounds,
                    splits: list) -> None:
  """Compares the functions with the candidates that have ended.

  A network that has begun, and whose function has changed, is forgotten.

  Raises:
    ValueError: a function makes another network, or compiles it otherwise.
  """
  for candidate, key in _list_compared(directory, rounds):
    task, folder = rounds.task(candidate, key.fold), directory.folder(key)
    has_ended = folder.predicted_record() is not None
    takes_trial = bool(models_lib.count_arguments(task.function))
    try:
      if takes_trial != bool(candidate.trial):
        change = f"takes {'a' if takes_trial else 'no'} trial now"
      else:
        change = _find_change(
            candidate, task, folder, splits[key.fold], has_ended)
    except ValueError as error:
      change = messages.one_line(error).removeprefix(
          task.owner + " ").rstrip(".")
    if change and has_ended:
      name = key.function
      raise ValueError(
          f"directory={str(directory.path)!r} has {key.name!r}, and now "
          f"{task.owner} {change}. Give the original function, or give the "
          f"changed one another name, such as \"{name}_2\"; then {name!r} may "
          "be left out.")
    if change:
      log.warning("%s is trained from the start: its function %s.",
                  candidate.name, change)
      for other in candidate.keys():
        directory.folder(other).forget()


def _list_compared(directory, rounds):
  """Yields candidates to compare, with the key of a network.

  Of a function, these are the first candidate that has ended. Of a space, these
  are all trials that have ended, or only the last one if the code is the same
  as before. All that have begun are compared.
  """
  last, seen = {}, set()
  for candidate in rounds.known():
    name = candidate.function
    ended = [key for key in candidate.keys()
             if directory.folder(key).predicted_record() is not None]
    if not ended:
      for key in candidate.keys()[:1]:
        record = directory.folder(key).read_record()
        if record is not None and not record.error:
          yield candidate, key
    elif not candidate.trial:
      if name not in seen:
        yield candidate, ended[0]
      seen.add(name)
    elif candidate.code and candidate.code == identity.digest_code(
        rounds.functions[name]):
      last[name] = candidate, ended[0]
    else:
      yield candidate, ended[0]
  yield from last.values()


def _find_change(candidate, task, folder, split, has_ended):
  """Returns in words what a function makes in place of a network, or ""."""
  recorded = candidate.architecture
  with task.seeded():
    model = task.build_model()
  now = identity.describe_model(model)
  difference = "" if recorded is None else identity.find_difference(
      recorded, now)
  if not has_ended:
    return difference and f"makes another model: {difference}"
  if recorded is not None:
    # Predictions of few rows hardly tell another precision.
    if difference.startswith("dtype policy"):
      return f"makes another model: {difference}"
    compiled = identity.compile_difference(recorded, now)
    if compiled:
      return f"compiles another model: {compiled}"
    if not difference and identity.config_of_keras(model) is not None:
      return ""  # The config tells all.
  x = rows_lib.first_batch(split.held_out, models_lib.fixed_size(model) or (
      rows_lib.CHECK_SIZE))[0]
  try:
    ensemble_model.build_member(task, x, folder)
  except ValueError:
    if difference:
      return f"makes another model: {difference}"
    raise
  return ""
