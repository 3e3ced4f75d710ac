# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads what a search left into values of JSON, and compares such values."""

import collections
import glob
import json
import math
import os
import struct

from adanet.testing.oracle import data
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
  return [iteration_report(record) for record in records]


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
              info.name: data.served_values(info.name.split(":")[0])
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


# A record of a report file is a message of protocol buffers, which is read
# without the code of either package. Its fields, from the descriptor in AdaNet
# 0.8.0: `IterationReport` has 1, the iteration's number, and 2, the reports of
# subnetworks. Each has three maps 1 (hparams), 2 (attributes) and 3 (metrics),
# and 4 (is in the ensemble) and 5 (name). The type of a value in a map tells the
# field: 1 string, 2 float, 3 int, 4 bool, 5 bytes.
_MAPS = {1: "hparams", 2: "attributes", 3: "metrics"}


def _varint(data, start):
  """Returns the integer at a position, and the position after it."""
  value, shift = 0, 0
  while True:
    byte = data[start]
    value |= (byte & 127) << shift
    start, shift = start + 1, shift + 7
    if byte < 128:
      return value, start


def _fields(data):
  """Returns a dict from each field's number to the list of its raw values."""
  result = collections.defaultdict(list)
  position = 0
  while position < len(data):
    tag, position = _varint(data, position)
    wire_type = tag % 8
    if wire_type == 0:
      value, position = _varint(data, position)
    elif wire_type == 2:
      size, position = _varint(data, position)
      value, position = data[position:position + size], position + size
    elif wire_type == 5:
      value, position = data[position:position + 4], position + 4
    else:
      raise ValueError("wire type must be 0, 2 or 5, got %d" % wire_type)
    result[tag // 8].append(value)
  return result


def _value(data):
  """Returns `[type, value]` of a message `Value`."""
  (number, (raw,)), = _fields(data).items()
  if number == 1:
    return ["string", raw.decode("utf-8")]
  if number == 2:
    return ["float", struct.unpack("<f", raw)[0]]
  if number == 3:
    return ["int", raw - 2**64 if raw >= 2**63 else raw]
  if number == 4:
    return ["bool", bool(raw)]
  return ["bytes", raw.decode("latin-1")]


def iteration_report(data):
  """Returns a record of a report file as a dict."""
  fields = _fields(data)
  subnetworks = []
  for subnetwork in fields[2]:
    parts = _fields(subnetwork)
    report = {
        name: {
            _fields(entry)[1][0].decode("utf-8"): _value(_fields(entry)[2][0])
            for entry in parts[number]
        } for number, name in _MAPS.items()
    }
    report["name"] = parts[5][0].decode("utf-8")
    report["included_in_final_ensemble"] = bool(sum(parts[4]))
    subnetworks.append(report)
  return {"iteration": sum(fields[1]), "subnetworks": subnetworks}


def differences(expected, actual, tolerance, path=""):
  """Returns one line for each place where two values of JSON differ.

  Args:
    expected: a value of JSON.
    actual: another.
    tolerance: float. Two numbers are equal if they differ by at most this times
      the greater of 1 and both sizes.
    path: str, where the values are.

  Returns:
    A list of str.
  """
  if isinstance(expected, dict) and isinstance(actual, dict):
    lines = [
        f"{path}/{key}: missing, expected {_short(expected[key])}"
        for key in sorted(set(expected) - set(actual))
    ] + [
        f"{path}/{key}: not expected, got {_short(actual[key])}"
        for key in sorted(set(actual) - set(expected))
    ]
    for key in sorted(set(expected) & set(actual)):
      lines += differences(
          expected[key], actual[key], tolerance, f"{path}/{key}")
    return lines
  if isinstance(expected, list) and isinstance(actual, list):
    if len(expected) == len(actual):
      lines = []
      for i, (expected_part, actual_part) in enumerate(zip(expected, actual)):
        lines += differences(
            expected_part, actual_part, tolerance, "%s/%d" % (path, i))
      return lines
  elif _are_close(expected, actual, tolerance):
    return []
  return [f"{path}: expected {_short(expected)}, got {_short(actual)}"]


def _are_close(expected, actual, tolerance):
  if not {type(expected), type(actual)} <= {int, float}:
    return type(expected) is type(actual) and expected == actual
  if math.isnan(expected) or math.isinf(expected):
    return repr(float(expected)) == repr(float(actual))
  return abs(expected - actual) <= tolerance * max(
      1., abs(expected), abs(actual))


def _short(value):
  text = repr(value)
  return text if len(text) <= 200 else text[:200] + "..."
