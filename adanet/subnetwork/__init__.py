# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Candidate networks, builders and generators."""

from adanet.subnetwork.generator import Builder
from adanet.subnetwork.generator import Generator
from adanet.subnetwork.generator import SimpleGenerator
from adanet.subnetwork.generator import Subnetwork
from adanet.subnetwork.generator import Summary
from adanet.subnetwork.generator import TrainOpSpec
from adanet.subnetwork.report import MaterializedReport
from adanet.subnetwork.report import Report

__all__ = [
    "Builder",
    "Generator",
    "MaterializedReport",
    "Report",
    "SimpleGenerator",
    "Subnetwork",
    "Summary",
    "TrainOpSpec",
]
