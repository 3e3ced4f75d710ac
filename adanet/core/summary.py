# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Summaries of one candidate, and the folders TensorBoard reads them from.

Each subnetwork and each ensemble has a folder of its own:

    <model_dir>/subnetwork/t0_dnn/
    <model_dir>/ensemble/t0_dnn_grow_complexity_regularized/
    <model_dir>/                                the search as a whole

TensorBoard draws curves of equal tags from different folders in one chart. A
summary op is named by all name scopes around it, and so is its tag. This
module keeps those ops as they are, and renames the tags when it writes.
"""

import contextlib
import os
import re
import time
import typing

from adanet import tf_compat
from adanet.subnetwork import summary as interface
import numpy as np

# Of ops that write several values: the word in their tags, and the attribute
# that says how many.
_SEVERAL_VALUES = {
    "ImageSummary": ("image", "max_images"),
    "AudioSummary": ("audio", "max_outputs"),
    "AudioSummaryV2": ("audio", "max_outputs"),
}
_ONE_VALUE = frozenset([
    "HistogramSummary", "ScalarSummary", "TensorSummaryV2"
])
_NUMBERED = re.compile(r"(.*[^/])_([1-9][0-9]*)$")


class ScopedSummary(interface.Summary):
  """The summaries of one subnetwork, of one ensemble, or of the search.

  Attributes:
    ops: list of the string tensors to run, in the order of their making. Each
      is a serialized `Summary` proto.
    namespace: "subnetwork", "ensemble" or None.
    scope: the name of the subnetwork or ensemble, such as "t0_dnn", or None.
  """

  def __init__(self,
               namespace: typing.Optional[str] = None,
               scope: typing.Optional[str] = None,
               skip: bool = False) -> None:
    """Makes a summary without ops.

    Args:
      namespace: the folder of all candidates of this kind, "subnetwork" or
        "ensemble"; None for the search.
      scope: the name of the candidate, and so of its folder; None for the
        search.
      skip: whether to make no ops.
    """
    self.namespace = namespace
    self.scope = scope
    self.ops = []  # type: typing.List[typing.Any]
    self._skip = skip
    self._base = ""  # The name scope that tags leave out.
    self._first_base = ""
    self._tags = {}  # type: typing.Dict[str, str]
    self._used = set()  # type: typing.Set[str]
    # The graph's collection of summaries, while a builder's are captured.
    self._captured = None  # type: typing.Optional[typing.List[typing.Any]]

  @contextlib.contextmanager
  def current_scope(self) -> typing.Iterator[None]:
    """Leaves the current name scope out of the tags of summaries made inside.

    Yields:
      None.
    """
    outer = self._base
    self._take_captured()
    self._base = tf_compat.v1.get_default_graph().get_name_scope()
    self._first_base = self._first_base or self._base
    try:
      yield
      self._take_captured()
    finally:
      self._base = outer

  @contextlib.contextmanager
  def capture(self) -> typing.Iterator[None]:
    """Takes the summaries that are made inside without this object.

    Code that calls `tf.compat.v1.summary.scalar` adds to a collection of the
    graph. What it adds inside becomes part of this summary. The collection is
    the same afterwards as before. Includes `current_scope`.

    Yields:
      None.
    """
    collection = tf_compat.v1.get_collection_ref(
        tf_compat.v1.GraphKeys.SUMMARIES)
    others, collection[:] = list(collection), []
    self._captured = collection
    try:
      with self.current_scope():
        yield
    finally:
      self._captured = None
      collection[:] = others

  def scalar(self, name, tensor, family=None, description=None):
    return self._make(tf_compat.v1.summary.scalar, name, tensor, family,
                      description)

  def image(self, name, tensor, max_outputs=3, family=None, description=None):
    return self._make(tf_compat.v1.summary.image, name, tensor, family,
                      description, max_outputs=max_outputs)

  def histogram(self,
                name,
                values,
                family=None,
                buckets=None,
                description=None):
    del buckets  # The op chooses them.
    return self._make(tf_compat.v1.summary.histogram, name, values, family,
                      description)

  def audio(self,
            name,
            tensor,
            sample_rate,
            max_outputs=3,
            family=None,
            encoding=None,
            description=None):
    if encoding not in (None, "wav"):
      raise ValueError(
          "encoding is {!r}. Expected 'wav' or None.".format(encoding))
    return self._make(tf_compat.v1.summary.audio, name, tensor, family,
                      description, sample_rate=sample_rate,
                      max_outputs=max_outputs)

  def merged(self) -> typing.Any:
    """Returns one op for all, a scalar string tensor; None if there is none."""
    if not self.ops:
      return None
    return tf_compat.v1.summary.merge(self.ops, collections=[])

  def rename(self, serialized: bytes) -> typing.Any:
    """Returns the `Summary` proto with the tags that TensorBoard shows.

    Args:
      serialized: the `Summary` proto that an op of this object returned.
    """
    proto = tf_compat.v1.Summary.FromString(serialized)
    for value in proto.value:
      value.tag = self._tags.get(value.tag) or _without(
          self._first_base, value.tag)
    return proto

  def _make(self, make, name, tensor, family, description, **kwargs):
    """Makes an op, and returns it."""
    if not name or not isinstance(name, str):
      raise ValueError(
          "name is {!r}. Expected the name of a summary: a str that is not "
          "empty.".format(name))
    if self._skip:
      return tf_compat.v1.constant("")
    self._take_captured()
    if self.scope:
      # Keeps the name itself free for the builder's ops and variables.
      name = "{}/{}".format(self.scope, name[name.startswith("/"):])
    op = make(name, tensor, family=family, collections=[], **kwargs)
    self._add(op, self.scope)
    return op

  def _take_captured(self):
    """Adds what the builder has added to the graph's collection since."""
    if self._captured:
      captured, self._captured[:] = list(self._captured), []
      if not self._skip:
        for tensor in captured:
          self._add(tensor)

  def _add(self, tensor, scope=None):
    """Adds an op, and decides what its tag will be.

    Args:
      tensor: a string tensor.
      scope: a name scope that the tag leaves out once.
    """
    op = tensor.op
    if op.type == "MergeSummary":
      for part in op.inputs:
        self._add(part, scope)
      return
    if any(tensor is known for known in self.ops):
      return
    self.ops.append(tensor)
    tag = _tag(op)
    if tag is None:
      return
    wanted = tag
    number = _number(op)
    if number:
      wanted = tag[:-len(number)]
    wanted = _without(self._base, wanted)
    if scope:
      wanted = _without(scope, wanted, 1)
    wanted = self._unique(wanted)
    if op.type in _ONE_VALUE:
      self._tags[tag] = wanted
      return
    word, attribute = _SEVERAL_VALUES[op.type]
    count = op.get_attr(attribute)
    for i in range(count):
      ending = "/{}/{}".format(word, i) if count > 1 else "/" + word
      self._tags[tag + ending] = wanted + ending

  def _unique(self, tag):
    """Returns the tag, with a number if it is in use, as TensorFlow does."""
    unique = tag
    number = 0
    while unique.lower() in self._used:
      number += 1
      unique = "{}_{}".format(tag, number)
    self._used.add(unique.lower())
    return unique


class SummaryWriter(object):
  """Writes summaries to the folders of a model_dir."""

  def __init__(self, model_dir: str) -> None:
    """Writes nothing yet.

    Args:
      model_dir: path of the folder that has those of the candidates.
    """
    self._model_dir = model_dir
    self._writers = {}  # type: typing.Dict[str, typing.Any]
    self._started = set()  # type: typing.Set[str]

  def add(self, summary: ScopedSummary, serialized: bytes,
          global_step: int) -> None:
    """Writes what the ops of a summary returned.

    Args:
      summary: the summary.
      serialized: the value of `summary.merged()`, or of one of its ops.
      global_step: the step to draw it at.
    """
    folder = os.path.join(summary.namespace or "", summary.scope or "")
    writer = self._writer(folder)
    if folder not in self._started:
      self._started.add(folder)
      # Makes TensorBoard forget later steps, which a stopped run has left.
      writer.add_session_log(
          tf_compat.v1.SessionLog(status=tf_compat.v1.SessionLog.START),
          global_step)
    writer.add_summary(summary.rename(serialized), global_step)

  def add_scalars(self, folder: str, values: typing.Mapping[str, typing.Any],
                  global_step: int) -> None:
    """Writes values that are known, such as the results of an evaluation.

    Args:
      folder: path relative to the model_dir, such as "eval" or
        "ensemble/t0_all_mean/eval"; "" is the model_dir.
      values: dict from tag to a number, a serialized `Summary` proto (bytes),
        a string or an array. Values of None are left out.
      global_step: the step to draw them at.

    Raises:
      ValueError: bytes that are no `Summary` proto.
    """
    proto = tf_compat.v1.Summary()
    for tag in sorted(values):
      _add_value(proto, tag, values[tag])
    self._writer(folder).add_summary(proto, global_step)

  def flush(self) -> None:
    """Writes what is in memory to the files."""
    for writer in self._writers.values():
      writer.flush()

  def close(self) -> None:
    """Closes all files. A later call of `add` opens new ones."""
    for writer in self._writers.values():
      writer.close()
    self._writers = {}
    self._started = set()

  def _writer(self, folder):
    if folder not in self._writers:
      # Files are named by the second of their making, and one of the same name
      # would be overwritten.
      suffix = ".{:020d}.{}".format(int(time.time() * 1e9), os.getpid())
      # FileWriter refuses eager mode.
      with tf_compat.v1.Graph().as_default():
        self._writers[folder] = tf_compat.v1.summary.FileWriter(
            os.path.join(self._model_dir, folder), filename_suffix=suffix)
    return self._writers[folder]


def _without(scope, tag, count=-1):
  """Returns the tag without the components of a name scope.

  Args:
    scope: str.
    tag: str.
    count: how often to leave it out; -1 is always. A tag with a family has the
      scope in the middle.
  """
  if not scope:
    return tag
  return ("/" + tag).replace("/{}/".format(scope), "/", count)[1:]


def _tag(op):
  """Returns the tag that a summary op writes, or None if it is unknown."""
  if op.type not in _ONE_VALUE and op.type not in _SEVERAL_VALUES:
    return None
  tag = tf_compat.v2.get_static_value(op.inputs[0])
  return None if tag is None else tag.item().decode()


def _number(op):
  """Returns the end, such as "_1", that TensorFlow gave an op's name, or "".

  The names of summaries share the graph with those of tensors, so a summary
  "loss" of a tensor "loss" is the op "loss_1". Its tag does not need that.
  """
  match = _NUMBERED.match(op.name)
  if not match:
    return ""
  name, number = match.group(1), int(match.group(2))
  earlier = [name] + ["{}_{}".format(name, i) for i in range(1, number)]
  # Only where all earlier numbers are taken did TensorFlow choose this one.
  with op.graph.name_scope(None):
    if any(op.graph.unique_name(other, mark_as_used=False) == other
           for other in earlier):
      return ""
  return "_{}".format(number)


def _add_value(proto, tag, value):
  """Adds a value to a `Summary` proto."""
  if value is None:
    return
  if isinstance(value, bytes):
    try:
      parts = tf_compat.v1.Summary.FromString(value).value
    except Exception as e:  # Protobuf's DecodeError; its home depends on the version.
      raise ValueError(
          "values[{!r}] is {!r}. Expected a serialized Summary proto.".format(
              tag, value[:20])) from e
    for i, part in enumerate(parts):
      part.tag = "{}/{}".format(tag, i)
    proto.value.extend(parts)
  elif isinstance(value, (str, np.ndarray)):
    proto.value.add(
        tag=tag, node_name=tag, tensor=tf_compat.v1.make_tensor_proto(value))
  else:
    proto.value.add(tag=tag, simple_value=float(value))
