# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds an ensemble of an iteration."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import metrics
from adanet.core import scopes
from adanet.core import subnetworks as subnetworks_lib
from adanet.heads import export_output
from adanet.heads import mean_loss


class MovingAverage(NamedTuple):
  """An exponential moving average without the bias of a start at zero.

  Attributes:
    value: variable, float of shape []; zero before the first update.
    update: tensor, float of shape [], which updates and returns the average;
      None for an average that is only read.
  """
  value: Any
  update: Any = None


class EnsembleSpec(NamedTuple):
  """An ensemble in the graph.

  Attributes:
    name: str, `t<iteration>_<candidate>_<ensembler>`.
    architecture: `Architecture`, without a global step.
    builders: tuple of the builders of the subnetworks, the oldest first.
    subnetworks: tuple of `adanet.subnetwork.Subnetwork`. `ensemble` may have
      fewer: a mean has only the new subnetworks.
    step: variable, int64 of shape []: the number of training steps.
    iteration_step: tensor, the value of `step` before the training of a run.
    loss: float tensor of shape [] or None: the head's.
    adanet_loss: float tensor of shape [] or None: `loss`, and the ensemble's
      complexity regularization. Cortes et al. 2017, equation 4.
    loss_terms: tuple of `LossTerm` that add up to `adanet_loss`; empty but for
      evaluation.
    predictions: dict of tensors; None for an earlier winner.
    export_outputs: dict from a signature's name to an export output, or None.
    train_op: `TrainOpSpec`, or None without training.
    metrics: dict from a name to a metric; empty but for evaluation.
    variables: tuple of str, the names of the ensemble's float variables,
      without optimizers' variables.
    average: `MovingAverage` of the AdaNet loss; None for no candidate.
  """
  name: str
  ensemble: Any
  architecture: architecture_lib.Architecture
  builders: Tuple[Any, ...]
  subnetworks: Tuple[Any, ...]
  step: Any
  iteration_step: Any
  summary: Any
  loss: Any = None
  adanet_loss: Any = None
  loss_terms: Tuple[mean_loss.LossTerm, ...] = ()
  predictions: Any = None
  export_outputs: Any = None
  train_op: Any = None
  metrics: Dict[str, Any] = {}
  variables: Tuple[str, ...] = ()
  average: Any = None

  def adanet_loss_metric(self) -> Tuple[Any, Any]:
    """Returns the metric of `adanet_loss`, for an evaluation."""
    return mean_loss.metric(self.loss_terms)


class ExportOptions(NamedTuple):
  """The outputs of an export beside the head's outputs.

  Attributes:
    subnetwork_logits: whether to export the logits of each subnetwork.
    subnetwork_last_layer: whether to export the last layer of each subnetwork.
  """
  subnetwork_logits: bool
  subnetwork_last_layer: bool


class Combination(NamedTuple):
  """Which subnetworks an ensemble has, or may have.

  Attributes:
    candidate_name: str, the name from the strategy.
    kept: tuple of int, which networks of the previous ensemble, by index.
  """
  candidate_name: str
  builders: Tuple[Any, ...]
  kept: Tuple[int, ...]

  def architecture(self, ensembler_name: str, number: int, index: int,
                   previous: Optional[EnsembleSpec]
                  ) -> architecture_lib.Architecture:
    """Returns the `Architecture`, without a global step.

    Args:
      index: int, the index among the candidates of the iteration.
    """
    before = previous.architecture if previous else None
    return architecture_lib.Architecture(
        self.candidate_name, ensembler_name,
        (*(before.subnetworks[i] for i in self.kept if before),
         *((number, builder.name) for builder in self.builders)),
        (before.replay_indices if before else ()) + (index,))


def combination(candidate: Any, previous: Optional[EnsembleSpec],
                fitted: bool) -> Combination:
  """Returns which subnetworks a candidate has."""
  builders = tuple(candidate.subnetwork_builders)
  if previous is None:
    return Combination(candidate.name, builders, ())
  indices = range(len(
      previous.builders if fitted else previous.ensemble.subnetworks))
  if len(builders) == 1:
    prune = getattr(builders[0], "prune_previous_ensemble", None)
    if callable(prune):
      logging.warning(
          "prune_previous_ensemble of builder %r is deprecated: write an "
          "adanet.ensemble.Strategy instead.", builders[0].name)
      indices = prune(previous.ensemble)
  return Combination(candidate.name, builders, tuple(
      i for i, builder in enumerate(previous.builders)
      if i in indices and
      builder in candidate.previous_ensemble_subnetwork_builders))


def _layer_outputs(name, layers):
  """Returns the export outputs of a layer of all subnetworks.

  `layers` has a tensor for each builder, or a dict with a tensor for each head.
  """
  first = next(iter(layers.values()))
  if not isinstance(first, dict):
    return {name: export_output.PredictOutput(layers)}
  return {
      f"{name}_{head}": export_output.PredictOutput(
          {builder: layer[head] for builder, layer in layers.items()})
      for head in first}


def _exported(outputs, ensemble, subnetworks, options):
  """Returns the head's export outputs and the outputs of the options."""
  outputs = dict(outputs)
  if options.subnetwork_logits:
    outputs.update(_layer_outputs(
        "subnetwork_logits",
        {s.builder.name: s.subnetwork.logits for s in subnetworks}))
  if options.subnetwork_last_layer:
    outputs.update(_layer_outputs(
        "subnetwork_last_layer",
        {s.builder.name: s.subnetwork.last_layer for s in subnetworks}))
  if ensemble.predictions:
    outputs.update({name: export_output.PredictOutput(tensor)
                    for name, tensor in ensemble.predictions.items()})
  return outputs


def _train_op(builders, ensembler, ensemble, previous_ensemble, **arguments):
  """Returns the op that trains the variables of an ensemble."""
  builder = builders[0]
  old = getattr(builder, "build_mixture_weights_train_op", None)
  if not callable(old):
    return ensembler.build_train_op(
        ensemble=ensemble, previous_ensemble=previous_ensemble, **arguments)
  logging.warning(
      "build_mixture_weights_train_op of builder %r is deprecated: write "
      "build_train_op of an adanet.ensemble.Ensembler instead.", builder.name)
  return old(logits=ensemble.logits, **arguments)


def build_ensemble(
    combined: Combination, ensembler: Any, name: str, iteration_number: int,
    index: int, task: subnetworks_lib.LearningTask,
    subnetworks: Sequence[subnetworks_lib.SubnetworkSpec],
    previous: Optional[EnsembleSpec], summary: Any, options: ExportOptions,
    frozen: bool, training: bool) -> EnsembleSpec:
  """Builds an ensemble in the default graph and the current variable scope.

  Args:
    index: int, the index among the candidates of the iteration.
    frozen: whether the ensemble is an earlier winner, built without loss and
      predictions; see `complete`.
  """
  v1 = tf_compat.v1
  by_name = {s.builder.name: s for s in subnetworks}
  used = [by_name[builder.name] for builder in combined.builders]
  kept: List[Any] = []
  builders = tuple(s.builder for s in used)
  previous_ensemble = None
  if previous:
    previous_ensemble = previous.ensemble
    kept = [previous.subnetworks[i] for i in combined.kept]
    builders = tuple(previous.builders[i] for i in combined.kept) + builders
  architecture = combined.architecture(
      ensembler.name, iteration_number, index, previous)
  with v1.variable_scope("ensemble_" + name) as variable_scope:
    step = subnetworks_lib.make_step()
    iteration_step = v1.convert_to_tensor(step)
    with summary.current_scope():
      summary.scalar("iteration_step/adanet/iteration_step", iteration_step)
    count = subnetworks_lib.num_variables()
    with summary.capture(), scopes.builder_scope(variable_scope) as built:
      ensemble = ensembler.build_ensemble(
          [s.subnetwork for s in used],
          previous_ensemble_subnetworks=kept,
          features=task.features, labels=task.labels,
          logits_dimension=task.head.logits_dimension, training=training,
          iteration_step=iteration_step, summary=summary,
          previous_ensemble=previous_ensemble)
    spec = EnsembleSpec(
        name, ensemble, architecture, builders,
        tuple(kept) + tuple(s.subnetwork for s in used), step, iteration_step,
        summary, variables=subnetworks_lib.made_since(count))
    if frozen:
      return spec
    spec = complete(spec, task, options, subnetworks)
    if not task.training:
      return spec
    with summary.current_scope():
      summary.scalar("loss", spec.loss)
    with v1.variable_scope("train_mixture_weights"):
      with summary.capture(), subnetworks_lib.train_op_scope(
          variable_scope, built) as updates:
        train_op = subnetworks_lib.as_train_op_spec(
            _train_op(
                combined.builders, ensembler, ensemble, previous_ensemble,
                loss=spec.adanet_loss,
                var_list=list(built.trainable_variables), labels=task.labels,
                iteration_step=iteration_step, summary=summary),
            f"ensemble {name!r}")
      train_op = subnetworks_lib.with_updates(train_op, updates)
    return spec._replace(train_op=train_op)


def complete(spec: EnsembleSpec, task: subnetworks_lib.LearningTask,
             options: ExportOptions,
             subnetworks: Sequence[Any]) -> EnsembleSpec:
  """Returns an ensemble with losses, predictions, metrics, export outputs.

  Args:
    subnetworks: the exported ones; none for none.
  """
  ensemble = spec.ensemble
  owner = f"ensemble {spec.name!r}"
  with scopes.seed_scope(owner):
    head_spec = task.apply_head(ensemble.logits, owner)
    terms = task.loss_terms(head_spec, ensemble.logits)
    measured = metrics.of_candidate(task, head_spec, terms)
  adanet_loss = head_spec.loss
  if (adanet_loss is not None and
      isinstance(ensemble, ensemble_lib.ComplexityRegularized)):
    adanet_loss += ensemble.complexity_regularization
    terms += (mean_loss.LossTerm(ensemble.complexity_regularization),)
  predictions = head_spec.predictions
  if ensemble.predictions and predictions:
    predictions = dict(predictions, **ensemble.predictions)
  exports = head_spec.export_outputs
  if exports and subnetworks:
    exports = _exported(exports, ensemble, subnetworks, options)
  if measured:
    measured["architecture/adanet/ensembles"] = metrics.architecture_metric(
        [builder for _, builder in spec.architecture.subnetworks])
  return spec._replace(
      loss=head_spec.loss, adanet_loss=adanet_loss, loss_terms=terms,
      predictions=predictions,
      export_outputs=exports, metrics=measured)


def moving_average(tensor: Any, decay: float, has_state: bool) -> MovingAverage:
  """Makes the variables and the update of an average.

  After n updates with x_1 .. x_n the average is
  `sum_i decay^(n-i) (1 - decay) x_i / (1 - decay^n)`. Source: Kingma and Ba
  2015, section 3. The variables have the names of
  `tensorflow.python.training.moving_averages`.

  Args:
    tensor: float tensor of shape [], or None for an average that is only read.
    decay: float in [0, 1).
    has_state: whether the inner variables are made, too.
  """
  v1 = tf_compat.v1
  average = v1.get_variable("adanet_loss", initializer=0., trainable=False)
  if not has_state:
    return MovingAverage(average)
  with v1.variable_scope(average.op.name):
    biased = v1.get_variable("biased", initializer=0., trainable=False)
    count = v1.get_variable("local_step", initializer=0., trainable=False)
  if tensor is None:
    return MovingAverage(average)
  difference = (v1.convert_to_tensor(biased) - tensor) * (1. - decay)
  new_biased = v1.assign_sub(biased, difference)
  new_count = v1.assign_add(count, 1.)
  return MovingAverage(
      average,
      v1.assign(average, new_biased / (1. - v1.pow(float(decay), new_count))))
