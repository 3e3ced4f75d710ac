# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ensemblers combine subnetworks; strategies choose the combinations to try."""

from adanet.ensemble.ensembler import Ensemble
from adanet.ensemble.ensembler import Ensembler
from adanet.ensemble.ensembler import MeanEnsemble
from adanet.ensemble.ensembler import MeanEnsembler
from adanet.ensemble.fitted import FittedEnsembler
from adanet.ensemble.fitted import GreedyEnsembler
from adanet.ensemble.fitted import Member
from adanet.ensemble.strategy import AllStrategy
from adanet.ensemble.strategy import Candidate
from adanet.ensemble.strategy import GrowStrategy
from adanet.ensemble.strategy import SoloStrategy
from adanet.ensemble.strategy import Strategy
from adanet.ensemble.weighted import ComplexityRegularized
from adanet.ensemble.weighted import ComplexityRegularizedEnsembler
from adanet.ensemble.weighted import MixtureWeightType
from adanet.ensemble.weighted import WeightedSubnetwork
from adanet.subnetwork.generator import TrainOpSpec

__all__ = [
    "AllStrategy",
    "Candidate",
    "ComplexityRegularized",
    "ComplexityRegularizedEnsembler",
    "Ensemble",
    "Ensembler",
    "FittedEnsembler",
    "GreedyEnsembler",
    "GrowStrategy",
    "MeanEnsemble",
    "MeanEnsembler",
    "Member",
    "MixtureWeightType",
    "SoloStrategy",
    "Strategy",
    "TrainOpSpec",
    "WeightedSubnetwork",
]
