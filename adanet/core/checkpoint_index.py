# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the data of a checkpoint lie, by its file `.index`.

TensorFlow's reader tells the shapes of whole variables, but not which parts of
a variable in parts, such as one of an optimizer, are there.

The file is a table of LevelDB with uncompressed blocks. Its keys are the names
of variables and of their parts. Each value is a protocol buffer, of which these
fields are read:

    message BundleEntry {
      int32 shard_id = 3;
      int64 offset = 4;
      int64 size = 5;
      fixed32 crc32c = 6;  // Of the data; absent where parts have it.
    }

Sources: table_format.md of LevelDB, and tensor_bundle.proto of TensorFlow.
"""

from typing import Iterator, NamedTuple, Tuple

from adanet import tf_compat

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER_SIZE = 48
# The type of a protocol buffer's field on the wire, to the bytes of its value.
_FIXED_SIZES = {1: 8, 5: 4}
_SHARD, _OFFSET, _SIZE, _SUM = 3, 4, 5, 6


class Entry(NamedTuple):
  """Where the values of a variable, or of a part of one, lie.

  Attributes:
    shard: int, the number of a file of the checkpoint's data.
    end: int, the number of bytes in that file up to the last value.
    sum: int, the checksum of the values; 0 where the parts have one each.
  """
  shard: int
  end: int
  sum: int


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


def _block(content, handle):
  """Yields the keys and values of the block that a handle names."""
  offset, size = handle.varint(), handle.varint()
  block = content[offset:offset + size]
  if content[offset + size:offset + size + 1] != b"\0":
    raise ValueError("the index is compressed or cut short")
  num_restarts = int.from_bytes(block[-4:], "little")
  # The rest is data for searching the block.
  reader = _BytesReader(block[:len(block) - 4 * (num_restarts + 1)])
  key = b""
  while reader:
    shared, rest, size = reader.varint(), reader.varint(), reader.varint()
    key = key[:shared] + reader.read(rest)
    yield key, reader.read(size)


def _numbers(message):
  """Returns the integers among the fields of a protocol buffer."""
  reader = _BytesReader(message)
  integers = {}
  while reader:
    field, kind = divmod(reader.varint(), 8)
    if kind == 0:
      integers[field] = reader.varint()
    elif kind in _FIXED_SIZES:
      integers[field] = int.from_bytes(
          reader.read(_FIXED_SIZES[kind]), "little")
    else:
      reader.read(reader.varint())
  return integers


def entries(checkpoint: str) -> Iterator[Tuple[bytes, Entry]]:
  """Yields the key and the `Entry` of each variable, and of each part of one.

  The key is the name of a variable. That of a part has a zero byte.

  Raises:
    ValueError: the file `.index` is not complete.
    tf.errors.OpError: the file cannot be read.
  """
  with tf_compat.v1.io.gfile.GFile(checkpoint + ".index", "rb") as f:
    content = f.read()
  footer = content[-_FOOTER_SIZE:]
  if footer[-len(_MAGIC):] != _MAGIC:
    raise ValueError("the index has no end")
  handles = _BytesReader(footer)
  handles.varint(), handles.varint()  # A block about blocks, which is empty.
  for _, handle in _block(content, handles):
    for key, value in _block(content, _BytesReader(handle)):
      if key:  # The value without a name is about the whole checkpoint.
        numbers = _numbers(value)
        yield key, Entry(
            numbers.get(_SHARD, 0),
            numbers.get(_OFFSET, 0) + numbers.get(_SIZE, 0),
            numbers.get(_SUM, 0))
