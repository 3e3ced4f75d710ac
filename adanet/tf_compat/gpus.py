# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this process, for TensorFlow 2.1 and later."""

from typing import List

from adanet.tf_compat import _tensorflow


def names() -> List[str]:
  """Returns the names of the GPUs that TensorFlow uses: "/device:GPU:0".

  A GPU that the user divides has a name for each part. A GPU that the user
  hides has none.
  """
  return [one.name for one in _tensorflow.v2.config.list_logical_devices("GPU")]


def grow_memory() -> None:
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
