# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The logits that iterations before have recorded, in the model_dir.

An iteration records its new networks only, and takes the previous ensemble's
members from here, if the evaluator's data and the members' variables are the
same as then. If not, or if there are no such files, it records all.

    <model_dir>/logits/
      library.json   the members, and digests of the evaluator's batches
      *.npy          the logits of a member, for one head, float32

It has the members of the last recording: of the ensemble before it, and all new
networks of its iteration.
"""

import os
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence
from typing import Tuple
import uuid

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import earlier_winners
from adanet.core import iteration as iteration_lib
from adanet.tf_compat import error_text
from adanet.tf_compat import files
from adanet.training import carried
from adanet.training import logits_values
from adanet.training import sessions

_FOLDER = "logits"
_ONE_HEAD = ""


class _LibraryMember(NamedTuple):
  """A network with logits in the library.

  Attributes:
    iteration: int.
    name: str, its builder's.
    complexity: float.
    files: dict from a head to a file in the folder; from "" without heads.
    sums: dict from the name of each of its variables, without its optimizer's,
      to the checksum of its value.
  """
  iteration: int
  name: str
  complexity: float
  files: Dict[str, str]
  sums: Dict[str, int]


class _LibraryIndex(NamedTuple):
  """The content of library.json.

  Attributes:
    members: tuple of `_LibraryMember`.
    batches: tuple of `RecordedBatch`.
    features: tuple with a digest of all features of each batch.
  """
  members: Tuple[_LibraryMember, ...]
  batches: Tuple[logits_values.RecordedBatch, ...]
  features: Tuple[str, ...]


def _path(model_dir, name="library.json"):
  return os.path.join(model_dir, _FOLDER, name)


def _index(model_dir):
  """Returns the `_LibraryIndex` of a model_dir; None without a whole one."""
  try:
    return files.read_json(
        _path(model_dir), _LibraryIndex, skips_unknown=True)
  except tf_compat.v1.errors.OpError:
    return None


def variables(model_dir: str
             ) -> Dict[logits_values.Network, Tuple[str, ...]]:
  """Returns the names of the variables of networks that have been recorded.

  Args:
    model_dir: str.

  Returns:
    Dict from the name of a network to the names of its variables, without its
    optimizer's.
  """
  index = _index(model_dir)
  return {(member.iteration, member.name): tuple(member.sums)
          for member in (index.members if index else ())}


def _is_same(member, sums):
  """Returns whether a checkpoint has the variables that a member had."""
  return all(sums.get(name) == value for name, value in member.sums.items())


def _logits(model_dir, member):
  arrays = {head: logits_values.mapped(_path(model_dir, name))
            for head, name in member.files.items()}
  return arrays[_ONE_HEAD] if list(arrays) == [_ONE_HEAD] else arrays


def read(model_dir: str, members: Sequence[logits_values.Network],
         checkpoint: Optional[str]
        ) -> Optional[logits_values.RecordedLogits]:
  """Returns the recorded logits of some networks, if all are recorded.

  Args:
    model_dir: str.
    members: the names of the networks.
    checkpoint: str, the prefix of a checkpoint that has their variables.

  Returns:
    `RecordedLogits` without inputs. None if one of them is not in the library,
    or has other variables by now.
  """
  index = _index(model_dir)
  if index is None or checkpoint is None:
    return None
  known = {(member.iteration, member.name): member for member in index.members}
  if not known.keys() >= set(members):
    return None
  sums = checkpoints.sums(checkpoint)
  if not all(_is_same(known[name], sums) for name in members):
    return None
  try:
    recorded = {name: ensemble_lib.Member(
        _logits(model_dir, known[name]), known[name].complexity)
                for name in members}
  except (EOFError, OSError, ValueError, tf_compat.v1.errors.OpError):
    # They are cut, or the next iteration's files have replaced them.
    return None
  return logits_values.RecordedLogits(
      recorded, None, {}, index.batches, index.features)


def _latest(model, number):
  """Returns the previous ensemble of an iteration, by name; or None."""
  return earlier_winners.latest(
      model.history(number), [e.name for e in model.search.ensemblers
                              if iteration_lib.is_fitted(e)])


def of_previous(model: Any, number: int, checkpoint: Optional[str]
               ) -> Optional[logits_values.RecordedLogits]:
  """Returns the recorded logits of the previous ensemble's members.

  Args:
    model: `Model`.
    number: int, the iteration's.
    checkpoint: see `read`.

  Returns:
    `RecordedLogits`; None without a previous ensemble, or if its members must
    be recorded again.
  """
  if not is_used(model.search):
    return None
  latest = _latest(model, number)
  if latest is None:
    return None
  return read(model.model_dir.path, latest.architecture.subnetworks, checkpoint)


def is_used(search: iteration_lib.Search) -> bool:
  """Returns whether the logits of networks are all that a search records.

  An ensembler that builds on the previous ensemble needs that one's, too.
  """
  return not any(map(iteration_lib.builds_on_ensembles, search.ensemblers))


def missing(model: Any, number: int,
            logits: logits_values.RecordedLogits
           ) -> List[logits_values.Network]:
  """Returns which members of the previous ensemble recorded logits lack."""
  latest = _latest(model, number)
  return [] if latest is None else [
      name for name in latest.architecture.subnetworks
      if name not in logits.members]


# Writing.


def variables_of(networks: Iterable[Optional[logits_values.Network]]
                ) -> Dict[logits_values.Network, Tuple[str, ...]]:
  """Returns the names of the variables of networks in the default graph.

  Args:
    networks: their names; None is left out. The graph is not for training, so
      it has no variables of optimizers.
  """
  saved = sessions.saved_names()
  return {
      network: tuple(name for name in saved if name.startswith(
          carried.network_scope(*network)))
      for network in networks if network is not None}


def _array_files(logits):
  """Returns dict from a head to an array and the name of a file for it."""
  heads = logits if isinstance(logits, dict) else {_ONE_HEAD: logits}
  return {head: (array, f"{uuid.uuid4().hex}.npy")
          for head, array in heads.items()}


def _kept_member(folder, name, member, own, sums):
  """Writes the logits of a network, and returns its `_LibraryMember`.

  It is None for a network that could not be recognized later.
  """
  arrays = _array_files(member.logits)
  if not own or any(variable not in sums for variable in own) or not all(
      isinstance(head, str) for head in arrays):
    return None  # A variable that is in parts has no checksum.
  for array, file in arrays.values():
    logits_values.write_array(os.path.join(folder, file), array)
  return _LibraryMember(
      *name, member.complexity, {head: file for head, (_, file) in
                                 arrays.items()},
      {variable: sums[variable] for variable in own})


def _write(model_dir, checkpoint, logits):
  """See `keep`."""
  folder = os.path.join(model_dir, _FOLDER)
  before = _index(model_dir)
  data = logits.batches, logits.features
  known = {}
  if before is not None and (before.batches, before.features) == data:
    known = {(member.iteration, member.name): member
             for member in before.members}
  sums = checkpoints.sums(checkpoint)
  members = []
  for name, member in logits.members.items():
    if name in known and _is_same(known[name], sums):
      members.append(known[name])
    else:
      made = _kept_member(
          folder, name, member, logits.variables.get(name), sums)
      members += [made] if made else []
  index = _LibraryIndex(tuple(members), *data)
  files.write_json(_path(model_dir), _LibraryIndex, index)
  used = {file for member in members for file in member.files.values()}
  for name in files.names(folder):
    if name.endswith(".npy") and name not in used:
      tf_compat.v1.io.gfile.remove(os.path.join(folder, name))


def keep(model: Any, checkpoint: Optional[str],
         logits: logits_values.RecordedLogits) -> None:
  """Keeps recorded logits in the model_dir for the next iteration.

  Where there is no space for them, a warning says so.

  Args:
    model: `Model`.
    checkpoint: str, the prefix of the one that has the networks' values; None
      for initial ones, which are not kept.
    logits: `RecordedLogits` of all networks.
  """
  if not is_used(model.search) or checkpoint is None:
    return
  try:
    _write(model.model_dir.path, checkpoint, logits)
  except (OSError, tf_compat.v1.errors.OpError) as error:
    logging.warning(
        "The logits of %d networks are not kept in model_dir %r: %s. The next "
        "iteration records them again.", len(logits.members),
        model.model_dir.path, error_text.first_line(error))
