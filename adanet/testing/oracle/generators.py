# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Generators, ensemblers and strategies of the settings."""

import adanet
from adanet.testing.oracle import builders
from adanet.tf_compat import v1 as tf


class PerIteration(adanet.subnetwork.Generator):
  """Calls a function of the iteration's number; remembers nothing."""

  def __init__(self, make_builders):
    self._make_builders = make_builders

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    return self._make_builders(int(iteration_number))


class Configured(adanet.subnetwork.Generator):
  """Takes the config too, and names its builder by it."""

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports, config):
    return [
        builders.TwoArguments(
            "chief" if config.is_chief else "worker", int(iteration_number))
    ]


class Steered(adanet.subnetwork.Generator):
  """Adds units by the reports of the iterations before."""

  def __init__(self, seen):
    """Makes a generator.

    Args:
      seen: list that gets the generator's arguments, once an iteration.
    """
    self._seen = seen

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    units = 1
    for report in all_reports:
      if report.name != "previous_ensemble":
        units += int(report.attributes["int"] == units)
        units += int(report.metrics["average_loss"] < .5)
    for report in previous_ensemble_reports:
      units += int(report.hparams["units"] > 1)
    told = [int(iteration_number), units] + [
        [[report.iteration_number, report.name,
          report.included_in_final_ensemble] for report in reports]
        for reports in (previous_ensemble_reports, all_reports)
    ]
    if told not in self._seen:
      self._seen.append(told)
    return [
        builders.Reporting("of_%d" % count, int(iteration_number), count)
        for count in (units, units + 1)
    ]


class Deepening(adanet.subnetwork.Generator):
  """Names a builder by how many subnetworks the previous ensemble has."""

  def __init__(self, through):
    self._through = through

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    depth = 0
    if previous_ensemble:
      depth = len(previous_ensemble.subnetworks)
    return [
        builders.Deeper("depth_%d" % depth, depth, through=self._through),
        builders.Linear("linear", depth),
    ]


class Product(adanet.ensemble.Ensembler):
  """Adds the mean logits and a function of them with a variable of its own."""

  def __init__(self, record=None):
    self._record = record

  @property
  def name(self):
    return "product"

  def build_ensemble(self, subnetworks, previous_ensemble_subnetworks, features,
                     labels, logits_dimension, training, iteration_step,
                     summary, previous_ensemble):
    everyone = list(previous_ensemble_subnetworks or []) + list(subnetworks)
    mean = tf.add_n([s.logits for s in everyone]) / len(everyone)
    scale = tf.get_variable("scale", initializer=.3)
    offset = tf.get_variable("offset", [logits_dimension],
                             initializer=tf.zeros_initializer())
    summary.scalar("scale", scale)
    return adanet.ensemble.MeanEnsemble(
        logits=mean + scale * mean * tf.nn.sigmoid(mean) + offset,
        subnetworks=everyone,
        predictions={"mean_logits": mean})

  def build_train_op(self, ensemble, loss, var_list, labels, iteration_step,
                     summary, previous_ensemble):
    step = tf.train.get_global_step()
    train_op = builders.sgd().minimize(
        loss, var_list=var_list, global_step=step)
    hooks = [self._record("product", loss)] if self._record else []
    # AdaNet 0.8.0 does not know its own `adanet.ensemble.TrainOpSpec` here.
    return adanet.subnetwork.TrainOpSpec(train_op, hooks=hooks)


class Doubled(adanet.ensemble.ComplexityRegularizedEnsembler):
  """Trains the weights of AdaNet's ensemble at its own rate."""

  def build_train_op(self, ensemble, loss, var_list, labels, iteration_step,
                     summary, previous_ensemble):
    return adanet.subnetwork.TrainOpSpec(
        Ordered(.2).minimize(loss, var_list=var_list))


class Ordered(tf.train.GradientDescentOptimizer):
  """Applies gradients after the loss is computed.

  AdaNet's regularization reads the mixture weights, and nothing orders that
  before their update.
  """

  def minimize(self, loss, global_step=None, var_list=None, **kwargs):
    gradients = self.compute_gradients(loss, var_list=var_list, **kwargs)
    with tf.control_dependencies([loss]):
      return self.apply_gradients(gradients, global_step=global_step)


class LastTwo(adanet.ensemble.Strategy):
  """Pairs each builder with the last subnetwork of the previous ensemble."""

  def generate_ensemble_candidates(self, subnetwork_builders,
                                   previous_ensemble_subnetwork_builders):
    last = list(previous_ensemble_subnetwork_builders or [])[-1:]
    pairs = [
        adanet.ensemble.Candidate(f"{builder.name}_pair", [builder],
                                  last) for builder in subnetwork_builders
    ]
    return pairs + [
        adanet.ensemble.Candidate("new", subnetwork_builders[:2], None)
    ]
