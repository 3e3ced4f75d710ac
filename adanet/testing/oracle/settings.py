# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings: each row of a table is one."""

import adanet
from adanet.testing.oracle import builders
from adanet.testing.oracle import data
from adanet.testing.oracle import generators
from adanet.testing.oracle import hooks
from adanet.testing.oracle import library
from adanet.testing.oracle import setting
from adanet.tf_compat import v1 as tf

MATRIX, VECTOR = setting.MATRIX, setting.VECTOR
RESTART = setting.RESTART
complexity = setting.complexity
evaluate = setting.evaluate
export = setting.export
one_builder = setting.one_builder
two_builders, three_builders = setting.two_builders, setting.three_builders
per_iteration = setting.per_iteration
predict = setting.predict
train = setting.train
_setting = setting.new

_FIRST = [train(max_steps=3)]  # Within the first iteration.
_THIRD = [train(max_steps=12)]  # Until the third iteration.
_EVERYTHING = [evaluate(), predict(), export("parsed")]


def _ensemblers():
  """Settings of how to ensemble."""
  weigh = lambda **kwargs: lambda c: dict(ensemblers=[complexity(**kwargs)])
  ordered = generators.Ordered
  grow, everyone, solo = (
      adanet.ensemble.GrowStrategy, adanet.ensemble.AllStrategy,
      adanet.ensemble.SoloStrategy)
  strategies = lambda *args: lambda c: dict(
      ensemble_strategies=[strategy() for strategy in args],
      ensemblers=[complexity(ordered(.1), use_bias=True)])
  return [
      _setting("scalar_fixed", lambda c: dict(
          subnetwork_generator=two_builders()),
               then=[evaluate(), predict(), export("raw")]),
      _setting("scalar_sgd", weigh(
          optimizer=tf.train.GradientDescentOptimizer(.1), use_bias=True)),
      _setting("scalar_regularized", lambda c: dict(
          ensemblers=[complexity(
              ordered(.1), adanet_lambda=.05, adanet_beta=.02)],
          subnetwork_generator=two_builders()), then=[predict()]),
      _setting("lambda_without_optimizer", weigh(
          adanet_lambda=.3, use_bias=True, name="named",
          mixture_weight_initializer=tf.ones_initializer())),
      _setting("beta_alone", weigh(optimizer=ordered(.1), adanet_beta=.1),
               actions=_FIRST),
      _setting("vector_adam", weigh(
          optimizer=builders.adam,
          mixture_weight_type=VECTOR, use_bias=True), task="classes"),
      # One Adam for two candidates would update its powers of beta twice a
      # step, in no order.
      _setting("adam_of_all_iterations", weigh(
          optimizer=tf.train.AdamOptimizer(.05), mixture_weight_type=VECTOR)),
      _setting("matrix_callable", weigh(
          optimizer=lambda: ordered(.1), mixture_weight_type=MATRIX,
          adanet_lambda=.01, adanet_beta=.01, use_bias=True),
               task="regression_3"),
      _setting("own_initializer", weigh(
          optimizer=tf.train.MomentumOptimizer(.05, .9),
          mixture_weight_type=MATRIX,
          mixture_weight_initializer=tf.constant_initializer(.3)),
               actions=_FIRST),
      _setting("warm_start", lambda c: dict(ensemblers=[complexity(
          ordered(.1), warm_start_mixture_weights=True, model_dir=c.model_dir,
          use_bias=True)]), actions=[train(max_steps=7), RESTART,
                                     train(max_steps=12)]),
      _setting("warm_start_matrix", lambda c: dict(ensemblers=[complexity(
          ordered(.1), mixture_weight_type=MATRIX, model_dir=c.model_dir,
          warm_start_mixture_weights=True)])),
      _setting("arguments_of_estimator", lambda c: dict(
          mixture_weight_type=VECTOR, use_bias=True, adanet_lambda=.2,
          adanet_beta=.1, warm_start_mixture_weights=True,
          mixture_weight_initializer=tf.constant_initializer(.4)),
               task="regression_3"),
      _setting("mean", lambda c: dict(
          ensemblers=[adanet.ensemble.MeanEnsembler()],
          subnetwork_generator=two_builders())),
      _setting("mean_last_layer", lambda c: dict(
          ensemblers=[adanet.ensemble.MeanEnsembler(
              name="average", add_mean_last_layer_predictions=True)],
          ensemble_strategies=[everyone()],
          subnetwork_generator=setting.two_alike()), then=[predict(),
                                                   export("parsed")]),
      _setting("both_ensemblers", lambda c: dict(
          ensemblers=[complexity(ordered(.1), name="weighted"),
                      adanet.ensemble.MeanEnsembler()],
          ensemble_strategies=[grow(), solo()])),
      _setting("all", lambda c: dict(
          strategies(everyone)(c), subnetwork_generator=two_builders())),
      _setting("solo", lambda c: dict(
          strategies(solo)(c), subnetwork_generator=two_builders())),
      _setting("all_strategies", lambda c: dict(
          strategies(grow, everyone, solo)(c),
          subnetwork_generator=two_builders())),
      _setting("tie", lambda c: dict(
          ensemble_strategies=[everyone(), grow(), solo()])),
      _setting("own_ensembler", lambda c: dict(
          ensemblers=[generators.Product(c.record)],
          subnetwork_generator=one_builder(record=c.record)),
               then=[evaluate(), predict(), export("raw")]),
      _setting("own_ensembler_among_others", lambda c: dict(
          ensemblers=[generators.Doubled(name="doubled", use_bias=True),
                      complexity(ordered(.1), name="plain")])),
      _setting("own_strategy", lambda c: dict(
          strategies(generators.LastTwo)(c),
          subnetwork_generator=three_builders(), force_grow=True)),
  ]


def _heads():
  """Settings of the head, its data and its exports."""
  head = lambda *args, **kwargs: lambda c: dict(
      head=library.head(*args, **kwargs))
  summed = lambda *args, **kwargs: lambda c: dict(
      head=library.head(*args, **kwargs),
      subnetwork_generator=one_builder(optimizer=lambda: builders.sgd(.005)))
  two_heads = setting.two_heads
  return [
      _setting("regression_weighted", summed(
          "RegressionHead", 3, weight_column="w", loss_reduction="sum"),
               task="regression_3", actions=_FIRST, then=_EVERYTHING),
      _setting("regression_loss_fn", head(
          "RegressionHead", loss_fn=lambda labels, logits: tf.abs(
              labels - logits)), actions=_FIRST, then=[evaluate()]),
      _setting("binary", head(
          "BinaryClassHead", thresholds=[.3, .7]), task="binary",
               actions=_FIRST, then=_EVERYTHING),
      _setting("binary_words", head(
          "BinaryClassHead", weight_column="w",
          label_vocabulary=["no", "yes"]), task="binary_words",
               actions=_FIRST, then=_EVERYTHING),
      _setting("classes", lambda c: dict(subnetwork_generator=two_builders()),
               task="classes", actions=_FIRST, then=_EVERYTHING),
      _setting("classes_words", summed(
          "MultiClassHead", 3, label_vocabulary=["blue", "green", "red"],
          weight_column="w", loss_reduction="sum"), task="classes_words",
               actions=_FIRST, then=_EVERYTHING),
      _setting("many_labels", head(
          "MultiLabelHead", 3, thresholds=[.4],
          classes_for_class_based_metrics=[0, 2]), task="many_labels",
               actions=_FIRST, then=_EVERYTHING),
      _setting("multi_head", lambda c: dict(
          head=two_heads(), export_subnetwork_logits=True,
          ensemblers=[complexity(
              generators.Ordered(.1), mixture_weight_type=VECTOR, use_bias=True,
              adanet_lambda=.01)]), task="two_heads", actions=_FIRST,
               then=_EVERYTHING),
      _setting("multi_head_mean", lambda c: dict(
          head=two_heads(head_weights=[.3, 2.]),
          ensemblers=[adanet.ensemble.MeanEnsembler(
              add_mean_last_layer_predictions=True)],
          ensemble_strategies=[adanet.ensemble.AllStrategy()],
          subnetwork_generator=setting.two_alike()), task="two_heads",
               actions=_FIRST, then=[predict(), export("raw")]),
      _setting("multi_head_warm_start", lambda c: dict(
          head=two_heads(),
          ensemblers=[complexity(
              generators.Ordered(.1), mixture_weight_type=MATRIX,
              warm_start_mixture_weights=True, model_dir=c.model_dir,
              use_bias=True)]), task="two_heads"),
      _setting("head_of_tf_estimator", lambda c: dict(
          head=library.tf_estimator_head("RegressionHead", 3)),
               task="regression_3", actions=_FIRST, then=_EVERYTHING,
               needs="tf.estimator"),
      _setting("binary_head_of_tf_estimator", lambda c: dict(
          head=library.tf_estimator_head("BinaryClassHead")),
               task="binary", actions=_FIRST, then=_EVERYTHING,
               needs="tf.estimator"),
      _setting("exports_logits", lambda c: dict(
          export_subnetwork_logits=True, export_subnetwork_last_layer=False,
          subnetwork_generator=two_builders()),
               actions=_FIRST, then=[export("parsed")]),
  ]


def _search():
  """Settings of selection, reports and generators."""
  judge = lambda *args, **kwargs: adanet.Evaluator(*args, **kwargs)
  objective = adanet.Evaluator.Objective
  once = dict(num_epochs=1, batch_size=16)
  worse = lambda c: dict(subnetwork_generator=generators.PerIteration(
      lambda t: [(builders.Worse if t else builders.Dense)("one", t)]))
  return [
      _setting("evaluator_minimizes", lambda c: dict(
          evaluator=judge(
              data.dataset("regression", rows=slice(0, 8)), steps=2,
              metric_name="average_loss", objective=objective.MINIMIZE),
          subnetwork_generator=two_builders()), then=[evaluate()]),
      _setting("evaluator_maximizes", lambda c: dict(
          evaluator=judge(
              data.dataset("classes", **once), metric_name="accuracy",
              objective=objective.MAXIMIZE),
          subnetwork_generator=two_builders()), task="classes"),
      _setting("evaluator_of_adanet_loss", lambda c: dict(
          evaluator=judge(data.dataset("regression", **once)),
          ensemblers=[complexity(adanet_lambda=.1)],
          subnetwork_generator=two_builders())),
      _setting("force_grow", lambda c: dict(worse(c), force_grow=True)),
      _setting("previous_ensemble_wins", worse,
               actions=_THIRD, then=[evaluate()]),
      _setting("previous_ensemble_wins_by_evaluator", lambda c: dict(
          worse(c), evaluator=judge(data.dataset("regression", **once))),
               actions=_THIRD),
      _setting("force_grow_of_two", lambda c: dict(
          force_grow=True, subnetwork_generator=per_iteration(
              lambda t: builders.Worse("a", t), lambda t: builders.Worse("b", t)
          ))),
      _setting("decay_half", lambda c: dict(adanet_loss_decay=.5),
               actions=_FIRST),
      _setting("decay_none", lambda c: dict(adanet_loss_decay=0.),
               actions=_FIRST),
      _setting("decay_slow", lambda c: dict(adanet_loss_decay=.999)),
      _setting("reports", lambda c: dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("regression"), steps=2),
          report_dir=c.model_dir + "/reports_of_mine",
          subnetwork_generator=generators.Steered(
              c.notes.setdefault("told", []))), actions=_THIRD),
      _setting("reports_to_the_end_of_input", lambda c: dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("classes", **once)),
          evaluator=judge(data.dataset("classes", **once), steps=1)),
               task="classes"),
      _setting("deepens_by_shared", lambda c: dict(
          subnetwork_generator=generators.Deepening("shared"))),
      _setting("deepens_by_persisted_tensors", lambda c: dict(
          subnetwork_generator=generators.Deepening("persisted_tensors"),
          ensemblers=[complexity(generators.Ordered(.1))])),
      _setting("takes_config", lambda c: dict(
          subnetwork_generator=generators.Configured(),
          ensemblers=[complexity(adanet_lambda=.1)])),
      _setting("simple_generator", lambda c: dict(
          subnetwork_generator=adanet.subnetwork.SimpleGenerator(
              [builders.Dense("a"), builders.Linear("b")]))),
      _setting("replay", lambda c: dict(
          replay_config=adanet.replay.Config([1, 1]),
          subnetwork_generator=two_builders()), actions=_THIRD),
      _setting("replay_of_the_first", lambda c: dict(
          replay_config=adanet.replay.Config([0])), then=[predict()]),
      _setting("prunes", lambda c: dict(
          subnetwork_generator=one_builder(
              builders.Pruning, keep=lambda n: range(1, n)),
          ensemblers=[complexity(generators.Ordered(.1), use_bias=True)],
          force_grow=True), actions=_THIRD),
  ]


def _training():
  """Settings of the loop, of builders and of their train ops."""
  stop_at = lambda *stops: generators.PerIteration(lambda t: [
      builders.Hooked("stop%d" % stop, (t, stop), **{
          ("hooks" if i else "chief_hooks"): lambda s=stop: [hooks.StopAfter(s)]
      }) for i, stop in enumerate(stops)])
  metrics = lambda labels, predictions, features: {
      "error": tf.metrics.mean_absolute_error(
          labels, predictions["predictions"]),
      "average_loss": tf.metrics.mean(features["w"]),
  }
  return [
      _setting("resumes_at_odd_steps", lambda c: dict(
          subnetwork_generator=one_builder(optimizer=builders.adam),
          ensemblers=[complexity(builders.adam, use_bias=True)],
          max_iteration_steps=8),
               actions=[train(max_steps=7), RESTART, train(max_steps=9),
                        RESTART, train(max_steps=11)]),
      _setting("steps", actions=[train(steps=4), train(steps=4), RESTART,
                                 train(steps=3)]),
      _setting("max_iterations", lambda c: dict(max_iterations=2),
               actions=[train(max_steps=100), train(max_steps=100)]),
      _setting("ends_with_the_iteration", actions=[
          train(max_steps=5), RESTART, evaluate(), train(max_steps=10)],
               then=[predict()]),
      _setting("finite_input", actions=[
          train(batches={"num_epochs": 1, "batch_size": 10}),
          train(batches={"num_epochs": 1, "batch_size": 10})]),
      _setting("hook_of_user_stops", actions=[
          train(stop_after=3, max_steps=20), train(stop_after=4, max_steps=20)
      ]),
      _setting("replicates_in_training", lambda c: dict(
          subnetwork_generator=one_builder(builders.TrainingDependent),
          ensemblers=[complexity(generators.Ordered(.1))],
          replicate_ensemble_in_training=True)),
      _setting("depends_on_training", lambda c: dict(
          subnetwork_generator=one_builder(builders.TrainingDependent),
          ensemblers=[complexity(generators.Ordered(.1))])),
      _setting("metric_fn", lambda c: dict(metric_fn=metrics), actions=_FIRST,
               then=[evaluate(steps=3, name="train")]),
      _setting("hooks", lambda c: dict(
          subnetwork_generator=stop_at(2, 3, 100)),
               actions=[train(max_steps=5)]),
      _setting("what_hooks_see", lambda c: dict(
          subnetwork_generator=one_builder(
              builders.Hooked, chief_hooks=lambda: [c.saver_hook("chief's")],
              hooks=lambda: [c.saver_hook("builder's")]),
          config=library.run_config(
              model_dir=c.model_dir, save_checkpoints_steps=3,
              keep_checkpoint_max=None)), actions=[
                  train(watched="model.ckpt-3", max_steps=5)]),
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
               actions=[train(max_steps=4), train(max_steps=7)]),
      _setting("learning_rate_decay", lambda c: dict(
          subnetwork_generator=one_builder(builders.Decayed)),
               actions=[train(max_steps=4), train(max_steps=7)]),
      _setting("own_mixture_weights_train_op", lambda c: dict(
          subnetwork_generator=one_builder(builders.MixtureWeights),
          ensemblers=[complexity(tf.train.GradientDescentOptimizer(.2))])),
      _setting("local_init_ops", lambda c: dict(
          subnetwork_generator=one_builder(builders.LocalVariable))),
      _setting("summaries", lambda c: dict(
          enable_ensemble_summaries=True, enable_subnetwork_summaries=True,
          ensemblers=[complexity(generators.Ordered(.1))])),
      _setting("debug", lambda c: dict(debug=True)),
      _setting("scopes_and_slots", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.Scoped("momentum", t, optimizer=lambda: (
                  tf.train.MomentumOptimizer(.05, .9))),
              lambda t: builders.Scoped("adam", t, optimizer=builders.adam)))),
      _setting("normalization", lambda c: dict(
          subnetwork_generator=one_builder(builders.Normalized))),
      _setting("keras_layers", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.Keras("a", t),
              lambda t: builders.Keras("b", t)))),
      _setting("one_batch", lambda c: dict(max_iteration_steps=3),
               actions=[train(batches="tensors", max_steps=5)]),
      _setting("records_losses", lambda c: dict(
          subnetwork_generator=per_iteration(
              lambda t: builders.Dense("a", t, record=c.record),
              lambda t: builders.Dense("b", t, 3, record=c.record))),
               actions=[train(max_steps=4), RESTART, train(max_steps=7)]),
      # Within an iteration AdaNet 0.8.0 saves variables that are a step ahead
      # of the global step, so this reads the checkpoint of a beginning.
      _setting("checkpoints", lambda c: dict(config=library.run_config(
          model_dir=c.model_dir, save_checkpoints_steps=2,
          keep_checkpoint_max=None)), then=[
              evaluate(checkpoint="increment.ckpt-1"),
              predict(predict_keys=["predictions"],
                      checkpoint="model.ckpt-7")]),
  ]


# AdaNet 0.8.0 takes long for these, or another setting is like them.
_SLOW = frozenset([
    "adam_of_all_iterations", "all", "all_strategies", "beta_alone",
    "binary", "binary_words", "checkpoints", "classes", "classes_words",
    "combiner_min", "decay_half", "deepens_by_shared",
    "evaluator_maximizes", "evaluator_minimizes", "force_grow_of_two",
    "hooks", "mean_last_layer", "multi_head", "multi_head_warm_start",
    "one_batch", "own_ensembler_among_others", "own_initializer",
    "own_strategy", "previous_ensemble_wins", "prunes", "replay",
    "replay_of_the_first", "reports", "reports_to_the_end_of_input",
    "resumes_at_odd_steps", "scalar_fixed", "scalar_regularized",
    "scopes_and_slots", "simple_generator", "steps", "tie", "what_hooks_see"
])


def table():
  """Returns all settings in a list."""
  return _ensemblers() + _heads() + _search() + _training()


def uneven_batches():
  """Returns settings with evaluations that have batches of two sizes.

  In the mean of AdaNet 0.8.0, a short batch counts as much as a whole one. Here
  each example counts once. So the expected result of a setting is AdaNet's
  result for the one of the table, whose name has no "_uneven".
  """
  size = 20  # And 12 of the 32 rows.
  changed = {
      "reports_to_the_end_of_input": dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("classes", num_epochs=1, batch_size=size))),
      "multi_head": {},
  }
  return [base._replace(
      name=base.name + "_uneven",
      estimator=lambda c, base=base: dict(
          base.estimator(c), **changed[base.name]),
      actions=[action._replace(arguments=dict(
          action.arguments, batch_size=size)) if action.name == "evaluate" else
               action for action in base.actions])
          for base in table() if base.name in changed]


def goes_on():
  """Returns the settings that continue the model_dirs of AdaNet 0.8.0.

  AdaNet 0.8.0 wrote each folder of `testdata/stranded` on TensorFlow 1.15, and
  stopped in an iteration: at steps 12, 7 and 8.
  """
  once = dict(num_epochs=1, batch_size=16)
  ordered = generators.Ordered(.1)
  return [_setting(name, estimator, task, [
      evaluate(), predict(), export("parsed"), train(max_steps=steps),
      evaluate()]) for name, task, steps, estimator in [
          # Two iterations are done; the third has begun.
          ("regression", "regression", 18, lambda c: dict(
              subnetwork_generator=two_builders(),
              ensemblers=[complexity(
                  ordered, adanet_lambda=.01, use_bias=True)])),
          # Three candidates, judged by accuracy, with reports.
          ("binary", "binary", 12, lambda c: dict(
              subnetwork_generator=three_builders(),
              evaluator=adanet.Evaluator(
                  data.dataset("binary", **once), metric_name="accuracy",
                  objective=adanet.Evaluator.Objective.MAXIMIZE),
              report_materializer=adanet.ReportMaterializer(
                  data.dataset("binary", **once)))),
          # Two heads, and mixture weights that continue.
          ("multi_head", "two_heads", 12, lambda c: dict(
              head=setting.two_heads(),
              subnetwork_generator=one_builder(
                  builders.Dense, optimizer=builders.adam),
              ensemblers=[complexity(
                  ordered, mixture_weight_type=VECTOR,
                  warm_start_mixture_weights=True, model_dir=c.model_dir)])),
      ]]


def quick():
  """Returns the settings that take AdaNet 0.8.0 the least time."""
  return [s for s in table() if s.name not in _SLOW]
