# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the data of a checkpoint lie, by its file `.index`.

TensorFlow's reader tells the shapes of whole variables. Of a variable in parts,
such as one of an optimizer, it does not tell which parts are there.

The file is a table of LevelDB with uncompressed blocks. Its keys are the
names of variables and of their parts, and each value is a protocol buffer, of
which this module reads

    message BundleEntry {
      int32 shard_id = 3;
      int64 offset = 4;
      int64 size = 5;
      fixed32 crc32c = 6;  // Of the data; absent where parts have it.
    }

Sources: table_format.md of LevelDB, and tensor_bundle.proto of TensorFlow.
"""

from typing import NamedTuple
from typing import Dict, Iterator, Tuple

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER_SIZE = 48
# The type of a protocol buffer's field on the wire, to the bytes of its value.
_FIXED_SIZES = {1: 8, 5: 4}
_VARINT, _LENGTH_DELIMITED = 0, 2
_SHARD, _OFFSET, _SIZE, _SUM = 3, 4, 5, 6


class _BytesReader:
  """Reads numbers and bytes, one after the other."""

  def __init__(self, content: bytes):
    self._content = content
    self._position = 0

  def __bool__(self):
    return self._position < len(self._content)

  def varint(self) -> int:
    value = shift = 0
    while True:
      byte = self.read(1)[0]
      value |= (byte & 127) << shift
      if byte < 128:
        return value
      shift += 7

  def read(self, size: int) -> bytes:
    begin = self._position
    self._position += size
    if self._position > len(self._content):
      raise ValueError("the index is cut short")
    return self._content[begin:self._position]


def _block(content: bytes, offset: int, size: int) -> bytes:
  """Returns the entries of a block, without the data for searching it."""
  block = content[offset:offset + size]
  if content[offset + size:offset + size + 1] != b"\0":
    raise ValueError("the index is compressed or cut short")
  num_restarts = int.from_bytes(block[-4:], "little")
  return block[:len(block) - 4 * (num_restarts + 1)]


def _entries(block: bytes) -> Iterator[Tuple[bytes, bytes]]:
  """Yields the keys and values of a block."""
  reader = _BytesReader(block)
  key = b""
  while reader:
    shared, rest, size = reader.varint(), reader.varint(), reader.varint()
    key = key[:shared] + reader.read(rest)
    yield key, reader.read(size)


def _numbers(message: bytes) -> Dict[int, int]:
  """Returns the integers among the fields of a protocol buffer."""
  reader = _BytesReader(message)
  integers = {}
  while reader:
    field, kind = divmod(reader.varint(), 8)
    if kind == _VARINT:
      integers[field] = reader.varint()
    elif kind in _FIXED_SIZES:
      integers[field] = int.from_bytes(
          reader.read(_FIXED_SIZES[kind]), "little")
    else:
      reader.read(reader.varint())
  return integers


def _handle(reader: _BytesReader) -> Tuple[int, int]:
  """Returns the offset and the size of a block."""
  return reader.varint(), reader.varint()


class Extent(NamedTuple):
  """Where the bytes of a variable, or of a part of one, lie.

  Attributes:
    shard: int, in which of the files `.data-*`.
    end: int, the offset in that file after their last byte.
  """
  shard: int
  end: int


def _variables(content: bytes) -> Iterator[Tuple[bytes, Dict[int, int]]]:
  """Yields the key and the numbers of each variable, and of each part of one.

  Raises:
    ValueError: the content is not that of an `.index`.
  """
  footer = content[-_FOOTER_SIZE:]
  if footer[-len(_MAGIC):] != _MAGIC:
    raise ValueError("the index has no end")
  handles = _BytesReader(footer)
  _handle(handles)  # That of a block about blocks, which is empty.
  for _, handle in _entries(_block(content, *_handle(handles))):
    for key, value in _entries(_block(content, *_handle(_BytesReader(handle)))):
      if key:  # The value without a name is about the whole checkpoint.
        yield key, _numbers(value)


def extents(content: bytes) -> Iterator[Extent]:
  """Yields where the data of a checkpoint lie, from its `.index`.

  Raises:
    ValueError: it is not one.
  """
  for _, entry in _variables(content):
    yield Extent(entry.get(_SHARD, 0),
                 entry.get(_OFFSET, 0) + entry.get(_SIZE, 0))


def sums(content: bytes) -> Dict[str, int]:
  """Returns the checksum of each variable of a checkpoint, from its `.index`.

  Returns:
    Dict from the name of a variable to an int greater than 0. A variable that
    is in parts is left out.

  Raises:
    ValueError: it is not one.
  """
  return {key.decode(): entry[_SUM] for key, entry in _variables(content)
          if entry.get(_SUM) and b"\0" not in key}  # A part has one.
