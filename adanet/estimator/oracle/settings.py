# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings: what to search, and what to ask of the Estimator.

Each row of a table is a `Setting`. Its `estimator` is a function of the
`Context`, and returns arguments of `adanet.Estimator`; `DEFAULTS` has the
others. An action is a name and its arguments, as `program` describes them.
"""

import collections

import adanet
from adanet.estimator.oracle import builders
from adanet.estimator.oracle import data
from adanet.estimator.oracle import generators
from adanet.estimator.oracle import hooks
from adanet.estimator.oracle import library
from adanet.tf_compat import v1 as tf

Action = collections.namedtuple("Action", ["name", "arguments"])

# What a run gives to `estimator`: `model_dir` is a str, and `record(name,
# tensor)` returns a hook that notes the tensor's value at each step. `notes` is
# a dict from such a name to the list of values.
Context = collections.namedtuple("Context", ["model_dir", "record", "notes"])

Setting = collections.namedtuple(
    "Setting", ["name", "task", "estimator", "actions", "needs"])

MATRIX = adanet.ensemble.MixtureWeightType.MATRIX
SCALAR = adanet.ensemble.MixtureWeightType.SCALAR
VECTOR = adanet.ensemble.MixtureWeightType.VECTOR

_HEADS = {
    "regression": ("RegressionHead", []),
    "regression_3": ("RegressionHead", [3]),
    "binary": ("BinaryClassHead", []),
    "classes": ("MultiClassHead", [3]),
    "many_labels": ("MultiLabelHead", [3]),
}


def train(**arguments):
  return Action("train", arguments)


def evaluate(**arguments):
  return Action("evaluate", arguments)


def predict(**arguments):
  return Action("predict", arguments)


def export(receiver):
  return Action("export", {"receiver": receiver})


RESTART = Action("restart", {})


def _setting(name, estimator=lambda context: {}, task="regression",
             actions=(train(max_steps=8),), then=(predict(),),
             needs=None):
  """Returns a `Setting`.

  Args:
    name: str.
    estimator: function of a `Context` that returns a dict.
    task: str, an argument of `data.labels`.
    actions: list of `Action`.
    then: list of `Action`, the last ones.
    needs: "tf.estimator", if our package needs it for this setting.
  """
  return Setting(name, task, estimator, list(actions) + list(then), needs)


def defaults(context, task):
  """Returns the arguments of `adanet.Estimator` that a setting may replace."""
  arguments = dict(
      subnetwork_generator=two(),
      max_iteration_steps=5,
      enable_ensemble_summaries=False,
      enable_subnetwork_summaries=False,
      config=library.run_config(model_dir=context.model_dir))
  if task in _HEADS:
    name, positional = _HEADS[task]
    arguments["head"] = library.head(name, *positional)
  return arguments


def per_iteration(*makers):
  """Returns a generator that calls each maker with the iteration's number."""
  return generators.PerIteration(lambda t: [make(t) for make in makers])


def two():
  return per_iteration(
      lambda t: builders.Linear("linear", t),
      lambda t: builders.Dense("dense", t, 2 + t, complexity=1.5 + t))


def one(make=builders.Dense, **kwargs):
  return per_iteration(lambda t: make("one", t, **kwargs))


def complexity(*args, **kwargs):
  return adanet.ensemble.ComplexityRegularizedEnsembler(*args, **kwargs)


def _ensemblers():
  """Settings of how to ensemble."""
  weigh = lambda **kwargs: lambda c: dict(ensemblers=[complexity(**kwargs)])
  weigh_one = lambda **kwargs: lambda c: dict(
      ensemblers=[complexity(**kwargs)], subnetwork_generator=one())
  ordered = generators.Ordered
  grow, everyone, solo = (
      adanet.ensemble.GrowStrategy, adanet.ensemble.AllStrategy,
      adanet.ensemble.SoloStrategy)
  strategies = lambda *args: lambda c: dict(
      ensemble_strategies=[strategy() for strategy in args],
      ensemblers=[complexity(ordered(.1), use_bias=True)])
  return [
      _setting("scalar_fixed", actions=[train(max_steps=13)],
               then=[evaluate(), predict(), export("raw")]),
      _setting("scalar_sgd", weigh_one(
          optimizer=tf.train.GradientDescentOptimizer(.1), use_bias=True)),
      _setting("scalar_regularized", weigh(
          optimizer=ordered(.1), adanet_lambda=.05, adanet_beta=.02),
               actions=[train(max_steps=13)]),
      _setting("lambda_without_optimizer", weigh(
          adanet_lambda=.3, use_bias=True, name="named",
          mixture_weight_initializer=tf.ones_initializer())),
      _setting("beta_alone", weigh_one(optimizer=ordered(.1), adanet_beta=.1)),
      _setting("vector_adam", weigh_one(
          optimizer=lambda: tf.train.AdamOptimizer(.05),
          mixture_weight_type=VECTOR, use_bias=True), task="classes"),
      _setting("adam_shared_by_candidates", weigh(
          optimizer=tf.train.AdamOptimizer(.05),
          mixture_weight_type=VECTOR), actions=[train(max_steps=7),
                                                train(max_steps=8)]),
      _setting("matrix_callable", weigh_one(
          optimizer=lambda: ordered(.1), mixture_weight_type=MATRIX,
          adanet_lambda=.01, adanet_beta=.01, use_bias=True),
               task="regression_3"),
      _setting("own_initializer", weigh_one(
          optimizer=tf.train.MomentumOptimizer(.05, .9),
          mixture_weight_type=MATRIX,
          mixture_weight_initializer=tf.constant_initializer(.3))),
      _setting("warm_start", lambda c: dict(ensemblers=[complexity(
          ordered(.1), warm_start_mixture_weights=True, model_dir=c.model_dir,
          use_bias=True)], subnetwork_generator=one()),
               actions=[train(max_steps=8), RESTART, train(max_steps=13)]),
      _setting("warm_start_matrix", lambda c: dict(ensemblers=[complexity(
          ordered(.1), mixture_weight_type=MATRIX, model_dir=c.model_dir,
          warm_start_mixture_weights=True)], subnetwork_generator=one())),
      _setting("arguments_of_estimator", lambda c: dict(
          mixture_weight_type=VECTOR, use_bias=True, adanet_lambda=.2,
          adanet_beta=.1, warm_start_mixture_weights=True,
          mixture_weight_initializer=tf.constant_initializer(.4),
          subnetwork_generator=one()), task="regression_3"),
      _setting("mean", lambda c: dict(
          ensemblers=[adanet.ensemble.MeanEnsembler()]),
               actions=[train(max_steps=13)]),
      _setting("mean_last_layer", lambda c: dict(
          ensemblers=[adanet.ensemble.MeanEnsembler(
              name="average", add_mean_last_layer_predictions=True)],
          ensemble_strategies=[everyone()],
          subnetwork_generator=two_alike()),
               then=[evaluate(), predict(), export("parsed")]),
      _setting("both_ensemblers", lambda c: dict(
          ensemblers=[complexity(ordered(.1), name="weighted"),
                      adanet.ensemble.MeanEnsembler()],
          ensemble_strategies=[grow(), solo()], subnetwork_generator=one()),
               actions=[train(max_steps=13)]),
      _setting("all", strategies(everyone), actions=[train(max_steps=13)]),
      _setting("solo", strategies(solo)),
      _setting("all_strategies", lambda c: dict(
          strategies(grow, everyone, solo)(c), subnetwork_generator=three())),
      _setting("tie", lambda c: dict(
          ensemble_strategies=[everyone(), grow(), solo()],
          subnetwork_generator=one()), actions=[train(max_steps=13)]),
      _setting("own_ensembler", lambda c: dict(
          ensemblers=[generators.Product(c.record)],
          subnetwork_generator=one(record=c.record)),
               then=[evaluate(), predict(), export("raw")]),
      _setting("own_ensembler_among_others", lambda c: dict(
          ensemblers=[generators.Doubled(name="doubled", use_bias=True),
                      complexity(ordered(.1), name="plain")],
          subnetwork_generator=one())),
      _setting("own_strategy", lambda c: dict(
          strategies(generators.LastTwo)(c), subnetwork_generator=three(),
          force_grow=True), actions=[train(max_steps=13)]),
  ]


def three():
  return per_iteration(
      *[lambda t, i=i: builders.Dense("dnn%d" % i, (t, i), 1 + i)
        for i in range(3)])


def two_alike():
  return per_iteration(
      *[lambda t, i=i: builders.Dense("dnn%d" % i, (t, i)) for i in range(2)])


def _heads():
  """Settings of the head, its data and what is exported."""
  head = lambda *args, **kwargs: lambda c: dict(
      head=library.head(*args, **kwargs), subnetwork_generator=one())
  two_heads = lambda **kwargs: library.head("MultiHead", [
      library.head("RegressionHead", name="price"),
      library.head("BinaryClassHead", name="sold")], **kwargs)
  everything = [evaluate(), predict(), export("parsed")]
  first = [train(max_steps=3)]
  return [
      _setting("regression_weighted", head(
          "RegressionHead", 3, weight_column="w", loss_reduction="sum"),
               task="regression_3", then=everything),
      _setting("regression_loss_fn", head(
          "RegressionHead", loss_fn=lambda labels, logits: tf.abs(
              labels - logits)), actions=first, then=everything),
      _setting("binary", head(
          "BinaryClassHead", thresholds=[.3, .7]), task="binary",
               then=everything),
      _setting("binary_words", head(
          "BinaryClassHead", weight_column="w",
          label_vocabulary=["no", "yes"]), task="binary_words",
               actions=first, then=everything),
      _setting("classes", task="classes", then=everything),
      _setting("classes_words", head(
          "MultiClassHead", 3, label_vocabulary=["blue", "green", "red"],
          weight_column="w", loss_reduction="sum"), task="classes_words",
               actions=first, then=everything),
      _setting("many_labels", head(
          "MultiLabelHead", 3, thresholds=[.4], classes_for_class_based_metrics=
          [0, 2]), task="many_labels", actions=first, then=everything),
      _setting("multi_head", lambda c: dict(
          head=two_heads(), export_subnetwork_logits=True,
          subnetwork_generator=one(),
          ensemblers=[complexity(
              generators.Ordered(.1), mixture_weight_type=VECTOR, use_bias=True,
              adanet_lambda=.01)]), task="two_heads", then=everything),
      _setting("multi_head_mean", lambda c: dict(
          head=two_heads(head_weights=[.3, 2.]),
          ensemblers=[adanet.ensemble.MeanEnsembler(
              add_mean_last_layer_predictions=True)],
          ensemble_strategies=[adanet.ensemble.AllStrategy()],
          subnetwork_generator=two_alike()), task="two_heads",
               actions=first, then=[predict(), export("raw")]),
      _setting("multi_head_warm_start", lambda c: dict(
          head=two_heads(), subnetwork_generator=one(),
          ensemblers=[complexity(
              generators.Ordered(.1), mixture_weight_type=MATRIX,
              warm_start_mixture_weights=True, model_dir=c.model_dir,
              use_bias=True)]), task="two_heads"),
      _setting("head_of_tf_estimator", lambda c: dict(
          head=library.tf_estimator_head("RegressionHead", 3)),
               task="regression_3", then=everything, needs="tf.estimator"),
      _setting("binary_head_of_tf_estimator", lambda c: dict(
          head=library.tf_estimator_head("BinaryClassHead"),
          subnetwork_generator=one()), task="binary", actions=first,
               then=everything, needs="tf.estimator"),
      _setting("exports_logits", lambda c: dict(
          export_subnetwork_logits=True, export_subnetwork_last_layer=False),
               actions=first, then=[export("parsed")]),
  ]


def _search():
  """Settings of selection, reports and generators."""
  judge = lambda *args, **kwargs: adanet.Evaluator(*args, **kwargs)
  objective = adanet.Evaluator.Objective
  once = dict(num_epochs=1, batch_size=16)
  worse = lambda c: dict(subnetwork_generator=generators.PerIteration(
      lambda t: [(builders.Worse if t else builders.Dense)("one", t)]))
  three_iterations = [train(max_steps=13)]
  return [
      _setting("evaluator_minimizes", lambda c: dict(
          evaluator=judge(
              data.dataset("regression", rows=slice(0, 8)), steps=2,
              metric_name="average_loss", objective=objective.MINIMIZE)),
               actions=three_iterations, then=[evaluate(), predict()]),
      _setting("evaluator_maximizes", lambda c: dict(
          evaluator=judge(
              data.dataset("classes", **once), metric_name="accuracy",
              objective=objective.MAXIMIZE)),
               task="classes", then=[evaluate()]),
      _setting("evaluator_maximizes_auc", lambda c: dict(
          evaluator=judge(data.dataset("binary", **once), metric_name="auc",
                          objective=objective.MAXIMIZE), force_grow=True),
               task="binary", actions=[train(max_steps=6)]),
      _setting("evaluator_of_adanet_loss", lambda c: dict(
          evaluator=judge(data.dataset("regression", **once)),
          ensemblers=[complexity(adanet_lambda=.1)])),
      _setting("force_grow", lambda c: dict(worse(c), force_grow=True),
               actions=three_iterations),
      _setting("previous_ensemble_wins", worse,
               actions=three_iterations + [train(max_steps=17)],
               then=[evaluate(), predict()]),
      _setting("previous_ensemble_wins_by_evaluator", lambda c: dict(
          worse(c), evaluator=judge(data.dataset("regression", **once))),
               actions=three_iterations),
      _setting("force_grow_of_two", lambda c: dict(
          force_grow=True, subnetwork_generator=per_iteration(
              lambda t: builders.Worse("a", t), lambda t: builders.Worse("b", t)
          )), actions=three_iterations, then=[evaluate()]),
      _setting("decay_half", lambda c: dict(adanet_loss_decay=.5)),
      _setting("decay_none", lambda c: dict(adanet_loss_decay=0.),
               actions=[train(max_steps=3)]),
      _setting("decay_slow", lambda c: dict(adanet_loss_decay=.999),
               actions=[train(max_steps=3)]),
      _setting("reports", lambda c: dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("regression"), steps=2),
          report_dir=c.model_dir + "/reports_of_mine",
          subnetwork_generator=generators.Steered(
              c.notes.setdefault("told", []))),
               actions=three_iterations),
      _setting("reports_to_the_end_of_input", lambda c: dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("classes", **once)),
          evaluator=judge(data.dataset("classes", **once), steps=1)),
               task="classes"),
      _setting("deepens_by_shared", lambda c: dict(
          subnetwork_generator=generators.Deepening("shared")),
               actions=three_iterations),
      _setting("deepens_by_persisted_tensors", lambda c: dict(
          subnetwork_generator=generators.Deepening("persisted_tensors"),
          ensemblers=[complexity(generators.Ordered(.1))]),
               actions=three_iterations),
      _setting("takes_config", lambda c: dict(
          subnetwork_generator=generators.Configured(),
          ensemblers=[complexity(adanet_lambda=.1)])),
      _setting("simple_generator", lambda c: dict(
          subnetwork_generator=adanet.subnetwork.SimpleGenerator(
              [builders.Dense("a"), builders.Linear("b")]))),
      _setting("replay", lambda c: dict(
          replay_config=adanet.replay.Config([1, 1])),
               actions=three_iterations, then=[evaluate(), predict()]),
      _setting("replay_of_the_first", lambda c: dict(
          replay_config=adanet.replay.Config([1])), then=[evaluate()]),
      _setting("prunes", lambda c: dict(
          subnetwork_generator=one(
              builders.Pruning, keep=lambda n: range(1, n)),
          ensemblers=[complexity(generators.Ordered(.1), use_bias=True)],
          force_grow=True), actions=three_iterations),
  ]


def _training():
  """Settings of the loop, of builders and of their train ops."""
  three_iterations = [train(max_steps=13)]
  stop_at = lambda *stops: generators.PerIteration(lambda t: [
      builders.Hooked("stop%d" % stop, (t, stop), **{
          ("hooks" if i else "chief_hooks"): lambda s=stop: [hooks.StopAfter(s)]
      }) for i, stop in enumerate(stops)])
  metrics = lambda labels, predictions, features: {
      "error": tf.metrics.mean_absolute_error(labels, predictions["predictions"]
                                             ),
      "average_loss": tf.metrics.mean(features["w"]),
  }
  return [
      _setting("resumes_at_odd_steps", lambda c: dict(
          subnetwork_generator=one(
              optimizer=lambda: tf.train.AdamOptimizer(.05)),
          ensemblers=[complexity(
              lambda: tf.train.AdamOptimizer(.05), use_bias=True)],
          max_iteration_steps=8),
               actions=[train(max_steps=7), evaluate(), RESTART,
                        train(max_steps=9), RESTART, train(max_steps=19)]),
      _setting("steps", lambda c: dict(subnetwork_generator=one()),
               actions=[train(steps=4), train(steps=4), RESTART,
                        train(steps=3)]),
      _setting("max_iterations", lambda c: dict(
          max_iterations=2, subnetwork_generator=one()),
               actions=[train(max_steps=100), train(max_steps=100)]),
      _setting("ends_with_the_iteration", lambda c: dict(
          subnetwork_generator=one()),
               actions=[train(max_steps=5), RESTART, evaluate(), predict(),
                        train(max_steps=10)]),
      _setting("finite_input", lambda c: dict(subnetwork_generator=one()),
               actions=[train(input={"num_epochs": 1, "batch_size": 10}),
                        train(input={"num_epochs": 2, "batch_size": 10})]),
      _setting("hook_of_user_stops", lambda c: dict(
          subnetwork_generator=one()), actions=[
              train(stop_after=3, max_steps=20),
              train(stop_after=4, max_steps=20)]),
      _setting("replicates_in_training", lambda c: dict(
          subnetwork_generator=one(builders.TrainingDependent),
          ensemblers=[complexity(generators.Ordered(.1))],
          replicate_ensemble_in_training=True), actions=three_iterations),
      _setting("depends_on_training", lambda c: dict(
          subnetwork_generator=one(builders.TrainingDependent),
          ensemblers=[complexity(generators.Ordered(.1))]),
               actions=three_iterations),
      _setting("metric_fn", lambda c: dict(metric_fn=metrics),
               actions=[train(max_steps=3)],
               then=[evaluate(steps=3, name="train"), evaluate()]),
      _setting("hooks", lambda c: dict(
          subnetwork_generator=stop_at(2, 3, 100)),
               actions=[train(max_steps=9), train(max_steps=12)]),
      _setting("combiner_max", lambda c: dict(
          subnetwork_generator=stop_at(2, 100),
          global_step_combiner_fn=tf.reduce_max)),
      _setting("combiner_min", lambda c: dict(
          subnetwork_generator=stop_at(4, 100),
          global_step_combiner_fn=tf.reduce_min), actions=[
              train(max_steps=6)]),
      _setting("global_step", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.GlobalStep("got", t),
              lambda t: builders.GlobalStep("made", t, create=True))),
               actions=[train(max_steps=4), train(max_steps=8)]),
      _setting("learning_rate_decay", lambda c: dict(
          subnetwork_generator=one(builders.Decayed)),
               actions=[train(max_steps=4), train(max_steps=8)]),
      _setting("own_mixture_weights_train_op", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.MixtureWeights("own", t),
              lambda t: builders.Dense("dense", t)),
          ensemblers=[complexity(tf.train.GradientDescentOptimizer(.2))])),
      _setting("local_init_ops", lambda c: dict(
          subnetwork_generator=one(builders.LocalVariable))),
      _setting("summaries", lambda c: dict(
          enable_ensemble_summaries=True, enable_subnetwork_summaries=True,
          ensemblers=[complexity(generators.Ordered(.1))])),
      _setting("debug", lambda c: dict(debug=True,
                                       subnetwork_generator=one())),
      _setting("scopes_and_slots", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.Scoped("momentum", t, optimizer=lambda: (
                  tf.train.MomentumOptimizer(.05, .9))),
              lambda t: builders.Scoped("adam", t, optimizer=lambda: (
                  tf.train.AdamOptimizer(.05)))))),
      _setting("normalization", lambda c: dict(
          subnetwork_generator=one(builders.Normalized)),
               actions=three_iterations),
      _setting("keras_layers", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.Keras("a", t),
              lambda t: builders.Keras("b", t)))),
      _setting("one_batch", lambda c: dict(
          max_iteration_steps=3, subnetwork_generator=one()),
               actions=[train(input="tensors", max_steps=7)]),
      _setting("records_losses", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.Dense("a", t, record=c.record),
              lambda t: builders.Dense("b", t, 3, record=c.record))),
               actions=[train(max_steps=4), RESTART, train(max_steps=8)]),
      _setting("checkpoints", lambda c: dict(config=library.run_config(
          model_dir=c.model_dir, save_checkpoints_steps=2,
          keep_checkpoint_max=None), subnetwork_generator=one()),
               actions=[train(max_steps=7)],
               then=[evaluate(checkpoint="model.ckpt-4"), predict(
                   predict_keys=["predictions"], checkpoint="model.ckpt-7")]),
  ]


def table():
  """Returns all settings in a list."""
  return _ensemblers() + _heads() + _search() + _training()
