# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow at run time: versions, GPUs, threads and errors."""

import re
import sys
from typing import Any, Dict, List

from adanet.tf_compat import _tensorflow


def loaded_versions() -> Dict[str, str]:
  """Returns the versions of TensorFlow and of each loaded Keras."""
  versions = {name: getattr(sys.modules.get(name), "__version__", None)
              for name in ("keras", "tf_keras")}
  return dict({name: str(version) for name, version in versions.items()
               if version}, tensorflow=_tensorflow.v1.VERSION)


def gpu_names() -> List[str]:
  """Returns the names of TensorFlow's GPUs: "/device:GPU:0".

  A GPU that the user divides has a name for each part. A GPU that the user
  hides has none.
  """
  return [gpu.name for gpu in _tensorflow.v2.config.list_logical_devices("GPU")]


def grow_gpu_memory() -> None:
  """Lets TensorFlow take the memory of GPUs as TensorFlow needs it.

  Does nothing if the user has decided about the memory of a GPU, or has used
  TensorFlow before: TensorFlow reads the setting once.
  """
  config = _tensorflow.v2.config
  gpus = config.list_physical_devices("GPU")
  # TensorFlow refuses GPUs of different settings.
  if any(config.get_logical_device_configuration(gpu) or
         config.experimental.get_memory_growth(gpu) is not None
         for gpu in gpus):
    return
  for gpu in gpus:
    try:
      config.experimental.set_memory_growth(gpu, True)
    except RuntimeError:  # TensorFlow has initialized the GPUs.
      return


# These have a number that TensorFlow may tune: of threads, or of elements. Or
# they are options of a user.
_TUNABLE = ("Parallel", "Prefetch", "MapAndBatch", "OptionsDataset")


def _ops(graph_def):
  """Yields the types of all ops of a graph and of the graph's functions."""
  for node in graph_def.node:
    yield node.op
  for function in graph_def.library.function:
    for node in function.node_def:
      yield node.op


def without_idle_tuning(dataset: Any) -> Any:
  """Returns a dataset without a tuning thread, if nothing can be tuned.

  The close of a session waits for the thread, which sleeps for up to a minute.
  A dataset with options of the user stays unchanged.
  """
  options = _tensorflow.v1.data.Options()
  if hasattr(options, "autotune"):
    options.autotune.enabled = False
  else:  # TensorFlow 1.15, whose graph does not have the options.
    if dataset.options() != options:
      return dataset
    options.experimental_optimization.autotune = False
  ops = _ops(_tensorflow.v1.get_default_graph().as_graph_def())
  if any(op.startswith(_TUNABLE) for op in ops):
    return dataset
  return dataset.with_options(options)


# What TensorFlow puts before the message of a session's error. Before those of
# other tasks it draws a ruler: "=====================".
_DEFINITIONS = re.compile(
    r"^Detected at node .*?^Node: [^\n]*\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"Graph execution error:|From /job:\S+:|\d+ root error\(s\) found\.")
_NUMBER = re.compile(r"^\(\d+\) ")
_WORD = re.compile(r"[^\W_]")


def error_line(error: BaseException) -> str:
  """Returns the first informative line of an error.

  Rulers, headings and lines of the program are left out. Without such a line,
  returns the name of the error's type.
  """
  for line in _DEFINITIONS.sub("", str(error)).splitlines():
    line = _NUMBER.sub("", line.strip())
    if _WORD.search(line) and not _HEADING.fullmatch(line):
      return line
  return type(error).__name__
