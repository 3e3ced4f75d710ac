# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records values of builders and ensemblers for TensorBoard."""

import abc
import contextlib
from typing import Any, Iterator, Optional

import six


@six.add_metaclass(abc.ABCMeta)
class Summary:
  """Records values of a subnetwork or an ensemble for TensorBoard.

  Each subnetwork and each ensemble has a separate `Summary`, which writes to a
  separate folder. TensorBoard shows equal tags of different folders as curves
  of the same chart, so a name need not include the candidate.

  For example, in `Builder.build_subnetwork`::

      summary.scalar("complexity", complexity)
      summary.histogram("last_layer", last_layer)

  In all methods, `name` is the tag after the open name scopes, `family` is an
  optional group before the tag, and `description` is a text for TensorBoard.
  All methods return the summary as a string tensor of shape [].
  """

  @contextlib.contextmanager
  def current_scope(self) -> Iterator[None]:
    """Omits the current name scope from tags made in the context."""
    yield

  @abc.abstractmethod
  def scalar(self, name: str, tensor: Any, family: Optional[str] = None,
             description: Optional[str] = None) -> Any:
    """Records a number.

    Args:
      name: str.
      tensor: number or tensor of shape [], written as float32.
      family: str or None.
      description: str or None.
    """

  @abc.abstractmethod
  def image(self, name: str, tensor: Any, max_outputs: int = 3,
            family: Optional[str] = None,
            description: Optional[str] = None) -> Any:
    """Records images.

    Args:
      name: str. The tags of images are `<name>/image/0`, `<name>/image/1`, ...;
        the tag of a single image is `<name>/image`.
      tensor: uint8 or float tensor of shape [images, height, width, channels],
        with 1 (gray), 3 (RGB) or 4 (RGBA) channels. Floats are scaled to
        [0, 255] in each image.
      max_outputs: int, the maximum number of images to record, from the first.
      family: str or None.
      description: str or None.
    """

  @abc.abstractmethod
  def histogram(self, name: str, values: Any, family: Optional[str] = None,
                buckets: Optional[int] = None,
                description: Optional[str] = None) -> Any:
    """Records the distribution of values.

    Args:
      name: str.
      values: tensor of finite numbers, of any shape.
      family: str or None.
      buckets: int, the number of buckets, or None for the default.
      description: str or None.
    """

  @abc.abstractmethod
  def audio(self, name: str, tensor: Any, sample_rate: Any,
            max_outputs: int = 3, family: Optional[str] = None,
            encoding: Optional[str] = None,
            description: Optional[str] = None) -> Any:
    """Records sounds.

    Args:
      name: str. The tags are as for `image`, with `audio` in place of `image`.
      tensor: float tensor of shape [clips, frames, channels], in [-1, 1].
      sample_rate: number or tensor of shape [], in Hz, greater than 0.
      max_outputs: int, the maximum number of clips to record, from the first.
      family: str or None.
      encoding: "wav", or None for the default.
      description: str or None.
    """
