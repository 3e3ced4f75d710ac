# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the chief asks all workers at the end of an iteration, and the answers.

    <model_dir>/cluster/question.json      there is one at a time
    <model_dir>/cluster/answers/<id of the question>/<job>-<index>.json

Each question has an id of its own, so an answer is never taken for
another question's.

The chief makes all files, empty at first. A network's file system may show a
new file late to those who have looked for it before, but not what was written
to an old one.
"""

import enum
import json
import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

from adanet import tf_compat
from adanet import typed_json
from adanet.tf_compat import files


class Kind(enum.Enum):
  """What is asked of the candidates."""
  VALUES = "values"  # What they are compared by.
  LOGITS = "logits"  # For ensembles that are fitted.
  REPORTS = "reports"


class Question(NamedTuple):
  """A question to all workers.

  Attributes:
    id: str, no other question has the same.
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
  """What a worker found.

  Attributes:
    content: what JSON can have.
    error: str, why there is no content, or "".
    is_done: False while the worker works on it.
  """
  content: Any = None
  error: str = ""
  is_done: bool = True


class Questions:
  """The files of the question that the chief asks now."""

  def __init__(self, model_dir: str):
    """Reads nothing yet."""
    self._path = os.path.join(model_dir, "cluster", "question.json")
    self._answers = os.path.join(model_dir, "cluster", "answers")

  # The chief's.

  def ask(self, question: Question) -> None:
    """Asks a question, instead of any before."""
    self.clear()
    for task in question.shares:
      files.write_text(self._of(question, task), "")
    files.write_text(self._path, json.dumps(
        typed_json.to_json(Question, question), sort_keys=True))

  def answer(self, question: Question, task: str) -> Optional[Answer]:
    """Returns the answer of a task; None if it has not begun."""
    text = files.read_text(self._of(question, task))
    if not text:
      return None
    try:
      return typed_json.from_json(Answer, typed_json.loads(text))
    except ValueError as error:
      return Answer(error=f"its answer cannot be read: {error}")

  def clear(self) -> None:
    """Takes the question back, and removes all answers."""
    files.write_text(self._path, "")  # First, so that no more are written.
    files.remove_folder(self._answers)

  def remove(self) -> None:
    """Removes the question, too: there will be no other one."""
    gfile = tf_compat.v1.io.gfile
    if gfile.exists(self._path):
      gfile.remove(self._path)
    files.remove_folder(self._answers)

  # A worker's.

  def read(self) -> Optional[Question]:
    """Returns the question; None if there is none."""
    text = files.read_text(self._path)
    try:
      return typed_json.from_json(Question, typed_json.loads(text or ""))
    except ValueError:  # Of another version.
      return None

  def is_asked(self, question: Question) -> bool:
    """Returns whether the chief still waits for the answers to a question."""
    found = self.read()
    return found is not None and found.id == question.id

  def write(self, question: Question, task: str, answer: Answer) -> None:
    """Writes the answer of a task, if the chief still waits for it.

    A worker writes one that is not done when it begins.
    """
    text = json.dumps(typed_json.to_json(Answer, answer))
    if self.is_asked(question):
      files.write_text(self._of(question, task), text)

  def _of(self, question, task):
    return os.path.join(
        self._answers, question.id, f"{task.replace(':', '-')}.json")
