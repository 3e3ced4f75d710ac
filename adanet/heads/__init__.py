# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Heads: loss, metrics, predictions and exported signatures of a task.

Each head has the constructor arguments, values and keys of the `tf.estimator`
head of the same name. Heads work on all versions of TensorFlow, in a graph,
without `tf.estimator` and without Keras.
"""

from adanet.heads import export_output
from adanet.heads.classification import BinaryClassHead
from adanet.heads.classification import MultiClassHead
from adanet.heads.classification import MultiLabelHead
from adanet.heads.head import Head
from adanet.heads.head import HeadSpec
from adanet.heads.mean_loss import LossTerm
from adanet.heads.multi_head import MultiHead
from adanet.heads.single_head import RegressionHead

__all__ = [
    "BinaryClassHead",
    "Head",
    "HeadSpec",
    "LossTerm",
    "MultiClassHead",
    "MultiHead",
    "MultiLabelHead",
    "RegressionHead",
    "export_output",
]
