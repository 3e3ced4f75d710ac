# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How builders and ensemblers record values for TensorBoard."""

import abc
import contextlib
from typing import Any, Iterator, Optional

import six


@six.add_metaclass(abc.ABCMeta)
class Summary:
  """Records values of one subnetwork, or of one ensemble, for TensorBoard.

  Each subnetwork and each ensemble has its own, which writes into a folder of
  its own. The same tag in two folders is one chart with two curves, so a name
  needs no mention of the candidate.

  In each method, `name` is the tag, after the open name scopes; `family`, if
  given, comes before it as the group of the tag; `description` is a text for
  TensorBoard. Each returns the summary as a string tensor of shape [].
  """

  @contextlib.contextmanager
  def current_scope(self) -> Iterator[None]:
    """Leaves the name scope that is open now out of the tags made inside."""
    yield

  @abc.abstractmethod
  def scalar(self, name: str, tensor: Any, family: Optional[str] = None,
             description: Optional[str] = None) -> Any:
    """Records a number.

    Args:
      tensor: number or tensor of shape []; it is written as float32.
    """

  @abc.abstractmethod
  def image(self, name: str, tensor: Any, max_outputs: int = 3,
            family: Optional[str] = None,
            description: Optional[str] = None) -> Any:
    """Records images.

    Args:
      name: str. The images are tagged `<name>/image/0`, `<name>/image/1`, ...,
        and a single one `<name>/image`.
      tensor: uint8 or float tensor of shape [images, height, width, channels],
        with 1 (gray), 3 (RGB) or 4 (RGBA) channels. Floats are scaled, image by
        image, to [0, 255].
      max_outputs: int, how many of the images to record, from the first.
    """

  @abc.abstractmethod
  def histogram(self, name: str, values: Any, family: Optional[str] = None,
                buckets: Optional[int] = None,
                description: Optional[str] = None) -> Any:
    """Records how values are distributed.

    Args:
      values: tensor of numbers, of any shape, all finite.
      buckets: int, the number of buckets, or None for the default.
    """

  @abc.abstractmethod
  def audio(self, name: str, tensor: Any, sample_rate: Any,
            max_outputs: int = 3, family: Optional[str] = None,
            encoding: Optional[str] = None,
            description: Optional[str] = None) -> Any:
    """Records sounds.

    Args:
      name: str. Tags are as for `image`, with `audio` in place of `image`.
      tensor: float tensor of shape [clips, frames, channels], in [-1, 1].
      sample_rate: number or tensor of shape [], in Hz, above 0.
      max_outputs: int, how many of the clips to record, from the first.
      encoding: "wav", or None for the default.
    """
