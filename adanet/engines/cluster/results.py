# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The results of the last checkpoint of a job, for all of its tasks.

    <model_dir>/cluster/results.json      of the first job of a program
    <model_dir>/cluster/results-2.json    of the second one, and so on

One task evaluates and exports it: the evaluator, or the chief where no
evaluator is known. The chief decides that when it starts, and the file says it,
so that nothing is exported twice. Later it has the metrics.
"""

import base64
import collections.abc
import contextlib
import os
from typing import (Any, Callable, Dict, List, NamedTuple, Optional, Sequence,
                    Tuple)

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.core import metrics
from adanet.engines.cluster import jobs
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files
from adanet.training import signals
import numpy as np

_POLL_SECS = 1.

# The metrics, and the results of all exporters.
Results = Tuple[Optional[Dict[str, Any]], Optional[List[Any]]]


def _text(data):
  return base64.b64encode(data).decode("ascii")


def to_json(value: Any) -> Any:
  """Returns a value in a form that `json.dumps` takes.

  Args:
    value: None, a number, text, bytes or an array; or lists and dicts of such.
      Something else becomes None, with a warning.
  """
  if isinstance(value, (np.generic, np.ndarray)):
    if value.dtype.kind not in "biufc":
      return to_json(value.tolist())
    return {"array": [value.dtype.str, value.shape, _text(value.tobytes())]}
  if isinstance(value, bytes):
    return {"bytes": _text(value)}
  if isinstance(value, (list, tuple)):
    return [to_json(item) for item in value]
  if isinstance(value, metrics.MetricValues):
    return {"metrics": [to_json(dict(value)), to_json(value.more)]}
  if isinstance(value, dict):
    return {"dict": {str(key): to_json(item) for key, item in value.items()}}
  if value is None or isinstance(value, (bool, int, float, str)):
    return value
  logging.warning(
      "Other tasks get None for this result, which is not JSON: %r.", value)
  return None


def from_json(content: Any) -> Any:
  """Returns the value that `to_json` made JSON of."""
  if isinstance(content, list):
    return [from_json(item) for item in content]
  if not isinstance(content, dict):
    return content
  (kind, value), = content.items()
  if kind == "bytes":
    return base64.b64decode(value)
  if kind == "metrics":
    return metrics.MetricValues(*map(from_json, value))
  if kind == "array":
    dtype, shape, data = value
    array = np.frombuffer(base64.b64decode(data), dtype).reshape(shape)
    return array.copy() if shape else array[()]
  return {key: from_json(item) for key, item in value.items()}


class _Record(NamedTuple):
  """The content of the file.

  Attributes:
    job: str, the id of the job.
    by: str, which kind of task evaluates.
    checkpoint: str, the name of the checkpoint that was evaluated, or None.
    results: the results as `to_json` returns them, or None.
  """
  job: str
  by: str
  checkpoint: Optional[str] = None
  results: Any = None


class Awaited(collections.abc.Sequence):
  """Results that another task finds. To read them is to wait for them.

  It is a pair: the metrics, and the list of exports.
  """

  def __init__(self, read: Callable[[], Results]):
    """Reads nothing: the function that waits is called when a part is read."""
    self._read = read
    self._results: Optional[Results] = None

  def __getitem__(self, index):
    if self._results is None:
      self._results = self._read()
    return self._results[index]

  def __len__(self):
    return 2


class ResultsFile:
  """The file with the results of a job."""

  def __init__(self, model_dir: str, job: jobs.JobId,
               timeout_secs: Optional[float]):
    """Reads nothing yet.

    Args:
      model_dir: str.
      job: `JobId`.
      timeout_secs: float, how long to wait at most for the results, or for
        space on the disk; None for no limit.
    """
    self._model_dir = model_dir
    self._job = job
    self._timeout_secs = timeout_secs
    self._job_state_file = jobs.JobStateFile(model_dir)
    self._path = os.path.join(
        model_dir, "cluster", "results.json" if job.number == 1 else
        f"results-{job.number}.json")

  def _record(self):
    """Returns the `_Record` of this job, or None."""
    record = files.read_json(self._path, _Record)  # None of another version.
    return record if record and self._job.is_of(record) else None

  def _write(self, record):
    waiting.wait_until_space(
        lambda: files.write_json(self._path, _Record, record),
        waiting.Wait(self._timeout_secs, "free some space"), self._model_dir)

  @property
  def by(self) -> Optional[str]:
    """Which kind of task evaluates the last checkpoint; None if not known."""
    record = self._record()
    return record.by if record else None

  def begin(self, by: str) -> None:
    """Says who evaluates the last checkpoint.

    The results from before a restart of the chief stay.

    Args:
      by: str, a kind of task.
    """
    if not (self._job.is_unique and self.by == by and self.read()):
      self._write(_Record(self._job.text, by))

  def read(self) -> Optional[Results]:
    """Returns the results of the job's last checkpoint, or None.

    That is the latest checkpoint, unless a later job trains on.
    """
    record = self._record()
    if record is None or record.results is None:
      return None
    if record.checkpoint != _name(
        checkpoint_file.latest(self._model_dir)) and (
            not self._job.is_followed_by(self._job_state_file.read())):
      return None
    metrics, exports = from_json(record.results)
    return metrics, exports

  def write(self, by: str, checkpoint: Optional[str], results: Results) -> None:
    """Writes the results of the last checkpoint.

    Args:
      by: str, the kind of this task.
      checkpoint: str, its prefix; None if there is none.
      results: see `Results`.
    """
    self._write(_Record(
        self._job.text, by, _name(checkpoint), to_json(results)))

  def awaited(self) -> Sequence[Any]:
    """Returns the results, which are waited for when they are read.

    Raises, when they are read:
      waiting.WaitTimeoutError: they did not come in time.
      KeyboardInterrupt, SystemExit: a signal asked for it.
    """
    return Awaited(self._wait)

  def _wait(self):
    wait = waiting.Wait(self._timeout_secs, "start it, or see what it prints")
    with signals.StopRequests():
      while True:
        with contextlib.suppress(tf_compat.v1.errors.OpError):
          results = self.read()
          if results is not None:
            wait.done()
            return results
        wait.pause(_POLL_SECS, self._awaited_task)

  def _awaited_task(self):
    return (f"the {self.by or 'chief'} to evaluate the last checkpoint in "
            f"{self._model_dir}")


def file_of(config: Any) -> ResultsFile:
  """Returns the file of the results that all tasks of a job return.

  Args:
    config: RunConfig with a model_dir.
  """
  return ResultsFile(
      config.model_dir, jobs.job_id(config),
      getattr(config, "session_creation_timeout_secs", None))


def _name(checkpoint):
  return checkpoint and os.path.basename(checkpoint)
