# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a search left into values that JSON can hold."""

import glob
import json
import os

from adanet.testing.oracle import data
from adanet.testing.oracle import wire
from adanet.tf_compat import v1 as tf
import numpy as np

# Variables inside of TensorFlow's moving averages.
_INNER = ("/biased", "/local_step")


def plain(value):
  """Returns arrays, bytes and numbers of NumPy as values of JSON."""
  if isinstance(value, dict):
    return {str(key): plain(item) for key, item in value.items()}
  if isinstance(value, (list, tuple)):
    return [plain(item) for item in value]
  if isinstance(value, (np.ndarray, np.generic)):
    return plain(value.tolist())
  if isinstance(value, bytes):
    return "bytes:" + value.decode("latin-1")
  return value


def variables(model_dir):
  """Returns the latest checkpoint's variables, and the ones in moving averages.

  Args:
    model_dir: str.

  Returns:
    Two dicts from a name to `[dtype, shape, values]`.
  """
  reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(model_dir))
  result = {}, {}
  for name, shape in sorted(reader.get_variable_to_shape_map().items()):
    value = reader.get_tensor(name)
    result[name.endswith(_INNER)][name] = [
        value.dtype.name, list(shape), plain(value.flatten())]
  return result


def architectures(model_dir):
  """Returns the text of each architecture file by the file's name."""
  result = {}
  for path in sorted(glob.glob(os.path.join(model_dir, "architecture-*"))):
    with open(path, encoding="utf-8") as f:
      result[os.path.basename(path)] = f.read()
  return result


def reports(report_dir):
  """Returns the records of the report file, or None if there is no file."""
  path = os.path.join(report_dir, "iteration_reports.tfrecord")
  if not os.path.exists(path):
    return None
  records = tf.python_io.tf_record_iterator(path)
  return [wire.iteration_report(record) for record in records]


def _tensor(info):
  shape = info.tensor_shape
  return [
      tf.as_dtype(info.dtype).name,
      None if shape.unknown_rank else [dim.size for dim in shape.dim]
  ]


def export(path):
  """Returns the signatures of a SavedModel, and the outputs of each."""
  result = {}
  with tf.Graph().as_default(), tf.Session() as session:
    model = tf.saved_model.load(session, ["serve"], path)
    for key, signature in sorted(model.signature_def.items()):
      values = session.run(
          {name: info.name for name, info in signature.outputs.items()}, {
              info.name: data.served_values(_placeholder(info.name))
              for info in signature.inputs.values()
          })
      result[key] = {
          "method": signature.method_name,
          "inputs": {name: _tensor(i) for name, i in signature.inputs.items()},
          "outputs": {
              name: _tensor(i) for name, i in signature.outputs.items()},
          "values": plain(values),
      }
  return result


def _placeholder(tensor_name):
  return tensor_name.split(":")[0]


def state(model_dir, report_dir):
  """Returns the content of a model_dir."""
  kept, inner = variables(model_dir)
  result = {
      "global_step": kept["global_step"][2][0],
      "variables": kept,
      "inner_variables": inner,
      "architectures": architectures(model_dir),
  }
  materialized = reports(report_dir)
  if materialized is not None:
    result["reports"] = materialized
  return result


def without_inner_variables(results):
  """Returns the results of a setting without the ones of TensorFlow 1.15."""
  return [
      {key: item for key, item in result.items() if key != "inner_variables"}
      if isinstance(result, dict) else result for result in results
  ]


def rounded(value, digits=7):
  """Returns a value of JSON with each float rounded to significant digits."""
  if isinstance(value, dict):
    return {key: rounded(item, digits) for key, item in value.items()}
  if isinstance(value, list):
    return [rounded(item, digits) for item in value]
  if isinstance(value, float):
    return float("%.*g" % (digits, value))
  return value


def write(path, value):
  """Writes a value as JSON, one line for each of its keys."""
  with open(path, "w", encoding="utf-8") as f:
    lines = (
        "{}: {}".format(json.dumps(key), json.dumps(
            item, sort_keys=True, separators=(",", ":")))
        for key, item in sorted(value.items()))
    f.write("{\n" + ",\n".join(lines) + "\n}\n")


def read(path):
  with open(path, encoding="utf-8") as f:
    return json.load(f)
