# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads AdaNet's report files without the code of either package.

A record is a message of protocol buffers. Its fields, from the descriptor in
AdaNet 0.8.0: `IterationReport` has 1, the iteration's number, and 2, the
subnetworks' reports. Each has three maps 1 (hparams), 2 (attributes) and 3
(metrics), and 4 (is in the ensemble) and 5 (name). A map's value has a field by
its type: 1 string, 2 float, 3 int, 4 bool, 5 bytes.
"""

import collections
import struct

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
