# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Summaries of a candidate: the ops of a graph and the tags in TensorBoard.

The name and the tag of a summary op include all surrounding name scopes. This
module keeps the ops unchanged and renames the tags at the time of writing, so
that all candidates have the same tags.

A builder may also make summaries with `tf.compat.v1.summary`, or with
TensorFlow 2's `tf.summary`, instead of the given object. `capture` collects
such summaries.
"""

import contextlib
import re
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from adanet import tf_compat
from adanet.subnetwork import generator as subnetwork_lib

# For ops that write several values: the word in the tags, and the attribute
# with the number of values.
_SEVERAL_VALUES = {
    "ImageSummary": ("image", "max_images"),
    "AudioSummary": ("audio", "max_outputs"),
    "AudioSummaryV2": ("audio", "max_outputs"),
}
_ONE_VALUE = frozenset(["HistogramSummary", "ScalarSummary", "TensorSummaryV2"])
# For ops that write to a file: the op that returns the same summary, the
# arguments of this op among the inputs after the writer and the step, and the
# attributes of this op.
_WRITING = {
    "WriteAudioSummary":
        ("AudioSummaryV2", ("tag", "tensor", "sample_rate"), ("max_outputs",)),
    "WriteHistogramSummary": ("HistogramSummary", ("tag", "values"), ()),
    "WriteImageSummary": ("ImageSummary", ("tag", "tensor"), ("max_images",)),
    "WriteScalarSummary": ("ScalarSummary", ("tags", "values"), ()),
    "WriteSummary":
        ("TensorSummaryV2", ("tensor", "tag", "serialized_summary_metadata"),
         ()),
}
_NUMBERED = re.compile(r"(.*[^/])_([1-9][0-9]*)$")


class ScopedSummary(subnetwork_lib.Summary):
  """The summaries of a subnetwork, of an ensemble, or of the search.

  Attributes:
    ops: list of the string tensors to run, in the order of creation. Each value
      is a serialized `Summary` proto.
    namespace: "subnetwork", "ensemble" or None.
    scope: the name of the subnetwork or ensemble, such as "t0_dnn", or None.
  """

  def __init__(self, namespace: Optional[str] = None,
               scope: Optional[str] = None, skip: bool = False) -> None:
    """Makes a summary without ops.

    Args:
      namespace: the folder of all candidates of a kind, "subnetwork" or
        "ensemble"; None for the search.
      scope: the name of the candidate and of the candidate's folder; None for
        the search.
      skip: whether to make no ops.
    """
    self.namespace = namespace
    self.scope = scope
    self.ops: List[Any] = []
    self._skip = skip
    self._base = ""  # The name scope that tags omit.
    self._first_base = ""
    # From the tag of an op to the tag and the description to show.
    self._shown: Dict[str, Tuple[str, Optional[str]]] = {}
    self._names: Set[Tuple[Any, str]] = set()
    self._used: Set[str] = set()
    # The graph's collection of summaries while capturing.
    self._captured: Optional[List[Any]] = None

  @contextlib.contextmanager
  def current_scope(self) -> Iterator[None]:
    """Omits the current name scope from tags made in the context."""
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
  def capture(self) -> Iterator[None]:
    """Collects summaries made in the context by TensorFlow's functions.

    The end of the context restores the graph's collection of the ops of
    `tf.compat.v1.summary`. The ops of TensorFlow 2's `tf.summary` would
    directly write to a file. Includes `current_scope`.
    """
    graph = tf_compat.v1.get_default_graph()
    collection = graph.get_collection_ref(tf_compat.v1.GraphKeys.SUMMARIES)
    saved, collection[:] = list(collection), []
    num_operations = len(graph.get_operations())
    self._captured = collection
    try:
      with self.current_scope(), _ready_to_write(graph):
        yield
        self._take_captured()
        if not self._skip:
          for op in graph.get_operations()[num_operations:]:
            self._take_operation(op)
    finally:
      self._captured = None
      collection[:] = saved

  def scalar(self, name, tensor, family=None, description=None):
    return self._make(tf_compat.v1.summary.scalar, name, tensor, family,
                      description)

  def image(self, name, tensor, max_outputs=3, family=None, description=None):
    return self._make(tf_compat.v1.summary.image, name, tensor, family,
                      description, max_outputs=max_outputs)

  def histogram(self, name, values, family=None, buckets=None,
                description=None):
    del buckets  # The op chooses them.
    return self._make(tf_compat.v1.summary.histogram, name, values, family,
                      description)

  def audio(self, name, tensor, sample_rate, max_outputs=3, family=None,
            encoding=None, description=None):
    if encoding not in (None, "wav"):
      raise ValueError(f"encoding is {encoding!r}. Expected 'wav' or None.")
    return self._make(tf_compat.v1.summary.audio, name, tensor, family,
                      description, sample_rate=sample_rate,
                      max_outputs=max_outputs)

  def merged(self) -> Any:
    """Returns a scalar string tensor with the values of all ops, or None.

    The result omits ops in loops and in other graphs, such as the functions of
    a dataset, because these ops cannot be run alone. The value omits a
    histogram with NaN or infinity, which the histogram op would reject.
    """
    graph = tf_compat.v1.get_default_graph()
    ops = [_unless_not_finite(op) for op in self.ops
           if op.graph is graph and graph.is_fetchable(op)]
    return tf_compat.v1.summary.merge(ops, collections=[]) if ops else None

  def rename(self, serialized: bytes) -> Any:
    """Returns the `Summary` proto with the tags for TensorBoard."""
    proto = tf_compat.v1.Summary.FromString(serialized)
    for value in proto.value:
      value.tag, description = self._shown.get(
          value.tag, (_without(self._first_base, value.tag), None))
      if description:
        value.metadata.summary_description = description
    return proto

  def _make(self, make, name, tensor, family, description, **kwargs):
    """Makes and returns an op."""
    if not name or not isinstance(name, str):
      raise ValueError(
          f"name is {name!r}. Expected the name of a summary: a str that is "
          "not empty.")
    if self._skip:
      return tf_compat.v1.constant("")
    self._take_captured()
    if self.scope:
      # Keeps the plain name free for the builder's ops and variables.
      name = f"{self.scope}/{name[1:] if name.startswith('/') else name}"
    op = make(name, tensor, family=family, collections=[], **kwargs)
    self._add(op, self.scope, description)
    return op

  def _take_captured(self):
    """Adds the builder's new ops from the graph's collection."""
    if self._captured:
      captured, self._captured[:] = list(self._captured), []
      if not self._skip:
        for tensor in captured:
          self._add(tensor)

  def _take_operation(self, op):
    """Adds a summary op from outside the graph's collection of summaries."""
    if op.type in _ONE_VALUE or op.type in _SEVERAL_VALUES:
      self._add(op.outputs[0])
    elif op.type in _WRITING and op.graph.is_fetchable(op):
      make, arguments, attributes = _WRITING[op.type]
      inputs = dict(zip(arguments, op.inputs[2:]))
      inputs.update((name, op.get_attr(name)) for name in attributes)
      tag = "tags" if "tags" in inputs else "tag"
      inputs[tag], written = op.name, _text(inputs[tag])
      with tf_compat.v1.name_scope(None):
        tensor = getattr(tf_compat.v1.raw_ops, make)(
            name=op.name + "/returned", **inputs)
      if written is not None:
        self._add(tensor, written=written)

  def _add(self, tensor, scope=None, description=None, written=None):
    """Adds an op and chooses the tag.

    Args:
      scope: a name scope to omit once from the tag.
      written: the tag, if the op has another one.
    """
    op = tensor.op
    if op.type == "MergeSummary":
      for part in op.inputs:
        self._add(part)
      return
    if (op.graph, op.name) in self._names:
      return
    self._names.add((op.graph, op.name))
    self.ops.append(tensor)
    if op.type not in _ONE_VALUE and op.type not in _SEVERAL_VALUES:
      return
    tag = _text(op.inputs[0])
    if tag is None:
      return
    shown = _without(self._base, _without_number(written or tag, op))
    if scope:
      shown = _without(scope, shown, 1)
    shown = self._unique(shown)
    endings = [""]
    if op.type in _SEVERAL_VALUES:
      word, attribute = _SEVERAL_VALUES[op.type]
      count = op.get_attr(attribute)
      endings = ["/" + word]
      if count > 1:
        endings = [f"/{word}/{i}" for i in range(count)]
    for ending in endings:
      self._shown[tag + ending] = shown + ending, description

  def _unique(self, tag):
    """Returns the tag; like TensorFlow, adds a number to a used tag."""
    unique = tag
    number = 0
    while unique.lower() in self._used:
      number += 1
      unique = f"{tag}_{number}"
    self._used.add(unique.lower())
    return unique


def _without(scope, tag, count=-1):
  """Returns a tag without the first `count` occurrences of a name scope.

  A tag with a family has the scope in the middle. -1 is for all occurrences.
  """
  if not scope:
    return tag
  return ("/" + tag).replace(f"/{scope}/", "/", count)[1:]


def _unless_not_finite(summary):
  """Returns a summary; for a histogram with NaN or infinity, an empty one."""
  v1, where = tf_compat.v1, tf_compat.v2.where
  if summary.op.type != "HistogramSummary":
    return summary
  tag, values = summary.op.inputs
  if not values.dtype.is_floating:
    return summary
  with v1.name_scope(None), v1.name_scope(summary.op.name + "/finite"):
    is_finite = v1.math.is_finite(values)
    histogram = v1.raw_ops.HistogramSummary(
        tag=tag, values=where(is_finite, values, v1.zeros_like(values)))
    return where(v1.reduce_all(is_finite), histogram, "")


def _text(tensor):
  """Returns the value of a constant string tensor as str; else None."""
  value = tf_compat.v1.get_static_value(tensor)
  return None if value is None else value.item().decode()


def _without_number(tag, op):
  """Returns the tag without the number that TensorFlow gave the op's name.

  Summaries and other tensors share the names of the graph, so a summary "loss"
  of a tensor "loss" is the op "loss_1". The tag does not need the number.
  """
  match = _NUMBERED.match(op.name)
  if not match:
    return tag
  name, number = match.group(1), int(match.group(2))
  ending = f"_{number}"
  earlier = [name] + [f"{name}_{i}" for i in range(1, number)]
  # TensorFlow chose the number only if all lower numbers are taken.
  with op.graph.name_scope(None):
    chosen = all(
        op.graph.unique_name(other, mark_as_used=False) != other
        for other in earlier)
  return tag[:-len(ending)] if chosen and tag.endswith(ending) else tag


@contextlib.contextmanager
def _ready_to_write(graph):
  """Lets TensorFlow 2's `tf.summary` make ops, which are never run.

  `tf.summary` makes ops only with a default writer and a step. In another
  graph, such as a `tf.function`, the ops would run with the graph, so this
  context makes no ops in other graphs.
  """
  v2 = tf_compat.v2.summary
  step = v2.experimental.get_step()
  with tf_compat.v1.name_scope(None):
    writer = v2.create_file_writer("", name="never_written")
  with writer.as_default(), v2.record_if(
      lambda: tf_compat.v1.get_default_graph() is graph):
    v2.experimental.set_step(0)
    try:
      yield
    finally:
      v2.experimental.set_step(step)
