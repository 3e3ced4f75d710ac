# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Requests of the chief to all workers at the end of an iteration, and answers.

    <model_dir>/cluster/question.json      there is one at a time
    <model_dir>/cluster/answers/<id of the request>/<job>-<index>.json

Each request has an id of its own, so an answer is never taken for
another request's.

The chief makes all files, empty at first. A network's file system may show a
new file late to a task that has looked for it before, but not the new content
of an old one.
"""

import enum
import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

from adanet import tf_compat
from adanet import typed_json
from adanet.tf_compat import files


class Kind(enum.Enum):
  """The kind of the answers."""
  VALUES = "values"  # To compare the candidates by.
  LOGITS = "logits"  # For ensembles that are fitted.
  REPORTS = "reports"


class EvaluationRequest(NamedTuple):
  """A request of the chief to all workers.

  Attributes:
    id: str, no other request has the same.
    job: str, the id of the job.
    generation: int, the last one that was announced.
    iteration: int, its number.
    kind: `Kind`.
    checkpoint: str, the name of the checkpoint to answer it from.
    seed: int, that of the graph's random ops; None for none.
    included: tuple of str, the builders that are in the winner, for reports.
    shares: dict from the name of a task to the names of the builders that it
      answers for.
  """
  id: str
  job: str
  generation: int
  iteration: int
  kind: Kind
  checkpoint: str
  seed: Optional[int]
  included: Tuple[str, ...]
  shares: Dict[str, Tuple[str, ...]]


class Answer(NamedTuple):
  """The answer of a worker.

  Attributes:
    content: any value of JSON.
    error: str, why there is no content, or "".
    is_done: False while the worker works on it.
  """
  content: Any = None
  error: str = ""
  is_done: bool = True


class EvaluationRequests:
  """The files of the request that the chief asks now."""

  def __init__(self, model_dir: str):
    """Reads nothing yet."""
    self._path = os.path.join(model_dir, "cluster", "question.json")
    self._answers = os.path.join(model_dir, "cluster", "answers")

  # The chief's.

  def ask(self, request: EvaluationRequest) -> None:
    """Writes a request, instead of any before."""
    self.clear()
    for task in request.shares:
      files.write_text(self._of(request, task), "")
    files.write_json(self._path, EvaluationRequest, request)

  def answer(self, request: EvaluationRequest, task: str) -> Optional[Answer]:
    """Returns the answer of a task; None if it has not begun."""
    text = files.read_text(self._of(request, task))
    if not text:
      return None
    try:
      return typed_json.from_json(Answer, typed_json.loads(text))
    except ValueError as error:
      return Answer(error=f"its answer cannot be read: {error}")

  def clear(self) -> None:
    """Takes the request back, and removes all answers."""
    files.write_text(self._path, "")  # First, so that no more are written.
    files.remove_folder(self._answers)

  def remove(self) -> None:
    """Removes the request, too: there will be no other one."""
    gfile = tf_compat.v1.io.gfile
    if gfile.exists(self._path):
      gfile.remove(self._path)
    files.remove_folder(self._answers)

  # A worker's.

  def read(self) -> Optional[EvaluationRequest]:
    """Returns the request; None if there is none, or of another version."""
    return files.read_json(self._path, EvaluationRequest)

  def is_asked(self, request: EvaluationRequest) -> bool:
    """Returns whether the chief still waits for the answers to a request."""
    current = self.read()
    return current is not None and current.id == request.id

  def write(self, request: EvaluationRequest, task: str,
            answer: Answer) -> None:
    """Writes the answer of a task, if the chief still waits for it.

    A worker writes one that is not done when it begins.
    """
    if self.is_asked(request):
      files.write_json(self._of(request, task), Answer, answer)

  def _of(self, request, task):
    return os.path.join(
        self._answers, request.id, f"{task.replace(':', '-')}.json")
