# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The logits of trained networks on the evaluator's data, as values and files.

    <folder>/
      library.json   the networks, and digests of the evaluator's batches
      *.npy          the logits of a network, for a head, float32
      inputs         a pickle of the labels and weights of all examples

A process that has trained networks for another process writes such a folder.
The process that leads the search keeps the last recording, without inputs, in
the folder "logits" of the model_dir. From there, the next iteration takes the
members of the previous ensemble, if the evaluator's data and the members'
variables have not changed.
"""

import hashlib
import io
import os
import pickle
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional, Sequence
from typing import Tuple

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.tf_compat import files
from adanet.tf_compat import runtime
import numpy as np

Network = Tuple[int, str]
"""The name of a network: its iteration, and its builder's name."""

PREVIOUS_ENSEMBLE: Network = (-1, "")
"""The name under which the logits of the previous ensemble are recorded."""

InputPath = Tuple[Any, ...]
"""Where a tensor of a batch is: ("labels",), or ("features", "weight")."""

_INDEX, _INPUTS = "library.json", "inputs"


class RecordedBatch(NamedTuple):
  """A batch of the evaluator's data.

  Attributes:
    size: int, the number of examples.
    digest: str, of the values that the head's loss needs.
    features: str, a digest of all tensors; "" if no iteration needs the digest.
  """
  size: int
  digest: str
  features: str = ""


class RecordedLogits(NamedTuple):
  """The logits of some networks, on the same examples in the same order.

  Attributes:
    members: dict from the name of each network to the `Member`. The complexity
      of the previous ensemble, if recorded, is the complexity regularization.
    inputs: dict from a path to an array of shape [n, ...]: the arguments of the
      head's loss beside logits.
    batches: tuple of `RecordedBatch`.
    sums: dict from the name of a network to a dict from the name of a variable,
      without the optimizer's, to the checksum of the value. A network without
      sums could not be recognized later.
    graphs: dict of the networks' graphs; see `Iteration`.
  """
  members: Dict[Network, ensemble_lib.Member]
  inputs: Dict[InputPath, Any]
  batches: Tuple[RecordedBatch, ...]
  sums: Dict[Network, Dict[str, int]] = {}
  graphs: Dict[str, fingerprint.Graph] = {}


def by_head(logits: Any) -> Dict[Any, Any]:
  """Returns logits by their heads; by None if there are no heads."""
  return logits if isinstance(logits, dict) else {None: logits}


def of_heads(by_heads: Mapping[Any, Any]) -> Any:
  """Returns the logits that were the argument of `by_head`."""
  return by_heads[None] if list(by_heads) == [None] else dict(by_heads)


def other_data_error(who: str, batch: int) -> ValueError:
  """Returns the error of data that differs from the recorded data.

  Args:
    who: str, the networks or the part that saw different data.
    batch: int, the first batch that differs, from 0.
  """
  return ValueError(
      f"evaluator.input_fn: {who} got another batch {batch} than others before."
      " Fitted ensembles need the same examples in the same order each time: "
      "do not shuffle, or shuffle with a seed")


def merged(recordings: Sequence[RecordedLogits]) -> RecordedLogits:
  """Returns the networks of several recordings in one recording.

  Args:
    recordings: list of `RecordedLogits`, not empty. The first recording of a
      member counts.

  Raises:
    ValueError: the recordings are of other data, or in another order.
  """
  batches = recordings[0].batches
  fields: Dict[str, Dict[Any, Any]] = {
      field: {} for field in ("members", "inputs", "sums", "graphs")}
  for recording in recordings:
    if recording.batches != batches:
      pairs = list(zip(recording.batches, batches))
      raise other_data_error(
          ", ".join(f"t{t}_{name}" for t, name in recording.members),
          next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs)))
    for field, values in fields.items():
      for key, value in getattr(recording, field).items():
        values.setdefault(key, value)
  return RecordedLogits(batches=batches, **fields)


# Files.


class _MemberFiles(NamedTuple):
  """A network with logits in a folder; `files` are pairs of a head and a file.
  """
  iteration: int
  name: str
  complexity: float
  files: Tuple[Tuple[Any, ...], ...]
  sums: Dict[str, int]

  @property
  def network(self) -> Network:
    return self.iteration, self.name

  def read(self, folder: str) -> ensemble_lib.Member:
    """Returns its `Member`, with logits that are mapped."""
    return ensemble_lib.Member(
        of_heads({head: _mapped(os.path.join(folder, name))
                  for head, name in self.files}), self.complexity)


class _Index(NamedTuple):
  """The content of library.json; see `RecordedLogits`."""
  members: Tuple[_MemberFiles, ...]
  batches: Tuple[RecordedBatch, ...]
  graphs: Dict[str, Dict[str, int]] = {}


def _mapped(path):
  """Returns an array of a file, which is read at the first use."""
  if "://" not in path:
    return np.load(path, mmap_mode="r")
  with tf_compat.v1.io.gfile.GFile(path, "rb") as f:
    return np.load(io.BytesIO(f.read()))


def _write_array(path, array):
  with files.written_whole(path) as temporary:
    with tf_compat.v1.io.gfile.GFile(temporary, "wb") as f:
      np.save(f, np.asarray(array, np.float32))


def write(recording: RecordedLogits, folder: str) -> None:
  """Writes recorded logits, and the inputs of the loss.

  Args:
    folder: str, the path of the folder, which is created.
  """
  files.write_bytes(
      os.path.join(folder, _INPUTS), pickle.dumps(recording.inputs))
  _write_members(recording, folder)


def _write_members(recording, folder):
  """Writes the logits, then the index; returns the names of the arrays' files.

  An array that is mapped from the file is not written again.
  """
  members = []
  for network, member in recording.members.items():
    sums = recording.sums.get(network, {})
    names = {}
    for head, array in by_head(member.logits).items():
      content = repr((network, head, sorted(sums.items()), recording.batches))
      names[head] = hashlib.sha256(content.encode()).hexdigest()[:32] + ".npy"
      path = os.path.join(folder, names[head])
      if getattr(array, "filename", None) != os.path.abspath(path):
        _write_array(path, array)
    members.append(_MemberFiles(
        *network, member.complexity, tuple(names.items()), sums))
  files.write_json(os.path.join(folder, _INDEX), _Index, _Index(
      tuple(members), recording.batches, recording.graphs))
  return {name for member in members for _, name in member.files}


def _index(folder):
  """Returns the `_Index` of a folder; None if the index is incomplete."""
  try:
    return files.read_json(
        os.path.join(folder, _INDEX), _Index, skips_unknown=True)
  except tf_compat.v1.errors.OpError:
    return None


def read(folder: str) -> RecordedLogits:
  """Returns the `RecordedLogits` that `write` wrote in a folder.

  Raises:
    FileNotFoundError: `write` has not ended.
  """
  index = _index(folder)
  if index is None:
    raise FileNotFoundError(f"{folder} has no {_INDEX}: expected recorded "
                            "logits that were written to the end")
  with tf_compat.v1.io.gfile.GFile(os.path.join(folder, _INPUTS), "rb") as f:
    inputs = pickle.loads(f.read())
  return RecordedLogits(
      {member.network: member.read(folder) for member in index.members}, inputs,
      index.batches, {member.network: member.sums for member in index.members},
      index.graphs)


# In the model_dir.


def is_kept(search: iteration_lib.Search) -> bool:
  """Returns whether a search records nothing but the logits of networks.

  An ensembler that builds on the previous ensemble needs the ensemble's logits,
  too. Then nothing is kept for the next iteration.
  """
  return not any(map(iteration_lib.builds_on_ensembles, search.ensemblers))


def _kept_folder(model_dir):
  return os.path.join(model_dir, "logits")


def kept_variables(model_dir: str) -> Dict[Network, Tuple[str, ...]]:
  """Returns the variables, without an optimizer's, of the kept networks."""
  index = _index(_kept_folder(model_dir))
  return {member.network: tuple(member.sums)
          for member in (index.members if index else ())}


def read_kept(model_dir: str, networks: Iterable[Network],
              checkpoint: Optional[str]) -> Optional[RecordedLogits]:
  """Returns the kept logits of some networks, if all are kept.

  Args:
    networks: the names of the networks.
    checkpoint: str, the prefix of a checkpoint with the networks' variables.

  Returns:
    `RecordedLogits` without inputs. None if a network is not kept, or the
    variables have changed.
  """
  folder = _kept_folder(model_dir)
  index = _index(folder)
  if index is None or checkpoint is None:
    return None
  now = checkpoints.sums(checkpoint)
  same = {
      member.network: member for member in index.members
      if all(now.get(name) == value for name, value in member.sums.items())}
  if not same.keys() >= set(networks):
    return None
  try:
    members = {name: same[name].read(folder) for name in networks}
  except (EOFError, OSError, ValueError, tf_compat.v1.errors.OpError):
    # They are cut, or the next iteration's files have replaced them.
    return None
  return RecordedLogits(members, {}, index.batches,
                        {name: same[name].sums for name in networks})


def keep(model_dir: str, recording: RecordedLogits) -> None:
  """Keeps the logits of networks for the next iteration, and deletes the rest.

  On a full disk, nothing is kept, with a warning.

  Args:
    recording: `RecordedLogits` of all networks. Networks without sums are left
      out.
  """
  folder = _kept_folder(model_dir)
  members = {name: member for name, member in recording.members.items()
             if recording.sums.get(name)}
  if not members:
    return
  try:
    used = _write_members(
        recording._replace(members=members, graphs={}), folder)
    for name in files.names(folder):
      if name.endswith(".npy") and name not in used:
        tf_compat.v1.io.gfile.remove(os.path.join(folder, name))
  except (OSError, tf_compat.v1.errors.OpError) as error:
    logging.warning(
        "The logits of %d networks are not kept in model_dir %r: %s. The next "
        "iteration records them again.", len(members), model_dir,
        runtime.error_line(error))
