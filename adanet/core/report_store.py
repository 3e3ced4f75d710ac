# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The file of reports: a TFRecord file with a record for each iteration.

A record is a protocol buffer, as in AdaNet 0.8:

    message Value {
      oneof value {
        string string_value = 1;
        float float_value = 2;
        int32 int_value = 3;
        bool bool_value = 4;
        bytes bytes_value = 5;
      }
    }
    message SubnetworkReport {
      map<string, Value> hparams = 1;
      map<string, Value> attributes = 2;
      map<string, Value> metrics = 3;
      bool included_in_final_ensemble = 4;
      string name = 5;
    }
    message IterationReport {
      int32 iteration_number = 1;
      repeated SubnetworkReport subnetwork_reports = 2;
    }
"""

import os
import struct
from typing import Any, Dict, List, Sequence, Tuple

from adanet import messages
from adanet import tf_compat
from adanet.subnetwork import report as report_lib
from adanet.tf_compat import files

_FILE_NAME = "iteration_reports.tfrecord"
_PACKAGE = "adanet"
_MAPS = ("hparams", "attributes", "metrics")
# A record of a TFRecord file: the length, a checksum of the length, the record,
# and a checksum of the record.
_HEADER = struct.Struct("<QI")
_FOOTER_SIZE = 4


class ReportError(ValueError):
  """A report does not fit in the file, or the file is corrupt."""


def _add_field(message, name, number, kind, **kwargs):
  """Adds a field of a scalar type, such as "int32", or of a message's."""
  field = message.field.add(name=name, number=number, **kwargs)
  if kind[0].isupper():
    field.type = field.TYPE_MESSAGE
    field.type_name = f".{_PACKAGE}.{kind}"
  else:
    field.type = getattr(field, "TYPE_" + kind.upper())


def _descriptor() -> Any:
  """Returns the descriptor of `IterationReport`.

  The descriptor is made at run time, because a generated file works only with
  few versions of protobuf. The descriptor is in a separate pool, because
  AdaNet's generated file may also be loaded.
  """
  from google.protobuf import descriptor_pb2  # pylint: disable=g-import-not-at-top
  from google.protobuf import descriptor_pool  # pylint: disable=g-import-not-at-top
  file = descriptor_pb2.FileDescriptorProto(
      name="adanet/core/report.proto", package=_PACKAGE, syntax="proto3")
  repeated = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED

  value = file.message_type.add(name="Value")
  value.oneof_decl.add(name="value")
  for number, kind in enumerate(("string", "float", "int32", "bool", "bytes")):
    _add_field(value, kind.replace("32", "") + "_value", number + 1, kind,
               oneof_index=0)

  report = file.message_type.add(name="SubnetworkReport")
  for number, name in enumerate(_MAPS):
    entry = report.nested_type.add(name=name.capitalize() + "Entry")
    entry.options.map_entry = True
    _add_field(entry, "key", 1, "string")
    _add_field(entry, "value", 2, "Value")
    _add_field(report, name, number + 1, "SubnetworkReport." + entry.name,
               label=repeated)
  _add_field(report, "included_in_final_ensemble", 4, "bool")
  _add_field(report, "name", 5, "string")

  iteration = file.message_type.add(name="IterationReport")
  _add_field(iteration, "iteration_number", 1, "int32")
  _add_field(iteration, "subnetwork_reports", 2, "SubnetworkReport",
             label=repeated)
  pool = descriptor_pool.DescriptorPool()
  pool.Add(file)
  return pool.FindMessageTypeByName(_PACKAGE + ".IterationReport")


def _message_class() -> Any:
  from google.protobuf import message_factory  # pylint: disable=g-import-not-at-top
  descriptor = _descriptor()
  if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22
    return message_factory.GetMessageClass(descriptor)
  return message_factory.MessageFactory().GetPrototype(descriptor)


def _set(proto, name, value):
  """Sets the field of a `Value` for the type of a value."""
  # bool comes first, because a bool is also an int.
  for kind, field in ((bool, "bool_value"), (bytes, "bytes_value"),
                      (str, "string_value"), (int, "int_value"),
                      (float, "float_value")):
    if isinstance(value, kind):
      try:
        setattr(proto, field, value)
      except ValueError as e:
        raise ReportError(f"{name}={value!r}: expected a number of 32 bits "
                          f"({e}).") from e
      return
  raise ReportError(
      f"{name}={value!r}: expected a bool, int, float, str or bytes, not "
      f"{type(value).__name__}.")


def _get(proto):
  return getattr(proto, proto.WhichOneof("value") or "string_value")


def _to_record(message_class, iteration_number, reports):
  """Returns the record of an iteration, as bytes."""
  iteration = message_class(iteration_number=iteration_number)
  for report in reports:
    proto = iteration.subnetwork_reports.add(
        name=report.name,
        included_in_final_ensemble=report.included_in_final_ensemble)
    for name in _MAPS:
      for key, value in getattr(report, name).items():
        _set(getattr(proto, name)[key],
             f"the report of {report.name} of iteration {iteration_number}: "
             f"{name}[{key!r}]", value)
  return iteration.SerializeToString(deterministic=True)


def _from_record(message_class, record):
  """Returns the iteration number and the list of reports of a record."""
  iteration = message_class.FromString(record)
  return iteration.iteration_number, [
      report_lib.MaterializedReport(
          iteration_number=iteration.iteration_number,
          name=proto.name,
          included_in_final_ensemble=proto.included_in_final_ensemble,
          **{name: {key: _get(value)
                    for key, value in sorted(getattr(proto, name).items())}
             for name in _MAPS})
      for proto in iteration.subnetwork_reports
  ]


def _split(content: bytes) -> List[bytes]:
  """Returns the records of a TFRecord file; raises ValueError if one is cut.

  TensorFlow's reader accepts a file that is cut in the length of a record.
  """
  records = []
  offset = 0
  while offset < len(content):
    begin = offset + _HEADER.size
    if begin > len(content):
      raise ValueError("it is cut short")
    end = begin + _HEADER.unpack_from(content, offset)[0]
    offset = end + _FOOTER_SIZE
    if offset > len(content):
      raise ValueError("it is cut short")
    records.append(content[begin:end])
  return records


class ReportStore:
  """The reports of all iterations in a file. Reading creates no file."""

  def __init__(self, report_dir: str):
    """Reads nothing yet; the folder need not exist."""
    self._path = os.path.join(report_dir, _FILE_NAME)

  @property
  def path(self) -> str:
    return self._path

  def _records(self) -> Dict[int, Tuple[bytes, List[Any]]]:
    """Returns the record and the reports for each iteration number."""
    gfile = tf_compat.v1.io.gfile
    if not gfile.exists(self._path):
      return {}
    from google.protobuf import message  # pylint: disable=g-import-not-at-top
    message_class = _message_class()
    records = {}
    try:
      with gfile.GFile(self._path, "rb") as f:
        for record in _split(f.read()):
          number, reports = _from_record(message_class, record)
          # After a repeated end of an iteration, AdaNet appended another
          # record. The next iteration started with the last record.
          records[number] = record, reports
    except (ValueError, message.DecodeError) as e:
      raise ReportError(
          f"{self._path}: {messages.one_line(e)}. Expected reports, as "
          "AdaNet writes them. Restore the file from a copy, or train in an "
          "empty model_dir.") from e
    return records

  def read(self) -> List[List[report_lib.MaterializedReport]]:
    """Returns the reports of each iteration, in the order of iterations."""
    return [reports for _, (_, reports) in sorted(self._records().items())]

  def write(self, iteration_number: int,
            reports: Sequence[report_lib.MaterializedReport]) -> None:
    """Writes the reports of an iteration and keeps all other iterations.

    Args:
      reports: the reports, whose iteration numbers are ignored.

    Raises:
      ReportError: a report has a value of a type that the file cannot hold, or
        the file is corrupt.
    """
    records = {number: record
               for number, (record, _) in self._records().items()}
    records[iteration_number] = _to_record(
        _message_class(), iteration_number, reports)
    with files.written_whole(self._path) as temporary:
      with tf_compat.v1.io.TFRecordWriter(temporary) as writer:
        for _, record in sorted(records.items()):
          writer.write(record)

  def for_generator(
      self, iteration_number: int
  ) -> Tuple[List[report_lib.MaterializedReport],
             List[report_lib.MaterializedReport]]:
    """Returns the reports for a generator in an iteration.

    The lists exclude the reports of this iteration, because a generator must
    get the same reports during the iteration and at the end of the iteration.

    Returns:
      Two lists of reports of earlier iterations: the reports of subnetworks in
      the winning ensemble of their iteration, and all reports.
    """
    earlier = [
        report for number, (_, reports) in sorted(self._records().items())
        if number < iteration_number for report in reports
    ]
    return [r for r in earlier if r.included_in_final_ensemble], earlier
