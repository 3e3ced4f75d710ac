# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests kubernetes: the manifests against Kubernetes' schemas."""

import json
import re
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import job as job_lib
from adanet.launch import kubernetes
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st

try:
  import kubernetes_validate
except ImportError:
  kubernetes_validate = None

# The first that has all fields of the manifests, the first where all are
# stable, and the newest here.
_VERSIONS = ("1.29", "1.33", "1.37")

_FULL = kubernetes.Spec(
    "registry/digits:1", ("train.py", "--steps=100"), 3, 2, True, "digits",
    "research", 5, "/model", "models", 2)

_labels = st.one_of(
    st.sampled_from("abyz"),
    st.builds("{}{}{}".format, st.sampled_from("abyz"),
              st.text("az09-", max_size=10), st.sampled_from("az09")))
_specs = st.builds(
    kubernetes.Spec,
    image=st.sampled_from(["a", "registry:5000/a/b:1@sha256:0", "yes"]),
    command=st.lists(st.text(
        st.characters(blacklist_categories=("Cs",)), max_size=5), min_size=1),
    num_workers=st.integers(0, 12), num_ps=st.integers(0, 12),
    has_evaluator=st.booleans(), name=_labels,
    namespace=st.one_of(st.none(), _labels), max_restarts=st.integers(0, 9),
    model_dir=st.one_of(st.none(), st.just("gs://a/b")),
    volume_claim=st.none(),
    gpus_per_worker=st.integers(0, 2))


def _objects(spec):
  """Returns the objects that a reader of the manifests sees, by kind/name."""
  manifests = json.loads(kubernetes.manifests(spec, "digits-1"))
  assert ("v1", "List") == (manifests["apiVersion"], manifests["kind"])
  return {f"{x['kind']}/{x['metadata']['name']}": x
          for x in manifests["items"]}


def _pod(job):
  return job["spec"]["template"]["spec"]


def _container(job):
  return _pod(job)["containers"][0]


def _environment(job):
  return {variable["name"]: variable.get("value")
          for variable in _container(job)["env"]}


@absltest.skipIf(sys.version_info < (3, 8),
                 "No kubernetes-validate for this Python has new schemas.")
class SchemaTest(parameterized.TestCase):

  def _validate(self, spec, versions=_VERSIONS):
    for version in versions:
      for document in _objects(spec).values():
        kubernetes_validate.validate(document, version, strict=True)

  @parameterized.named_parameters(
      ("full", _FULL),
      ("chief_alone", kubernetes.Spec("image", ("train.py",))),
      ("url", _FULL._replace(model_dir="gs://a/b", volume_claim=None)))
  def test_valid(self, spec):
    self._validate(spec)

  @hypothesis.settings(max_examples=5)
  @hypothesis.given(_specs)
  @level.gate
  def test_any_is_valid(self, spec):
    self._validate(spec, _VERSIONS[-1:])

  def test_broken_is_invalid(self):
    document = _objects(_FULL)["Job/digits-ps"]
    document["spec"].update(backofLimitPerIndex=3)
    with self.assertRaises(kubernetes_validate.ValidationError):
      kubernetes_validate.validate(document, _VERSIONS[-1], strict=True)


class ManifestsTest(parameterized.TestCase):

  def test_objects(self):
    self.assertEqual(
        ["Service/digits", "NetworkPolicy/digits", "Job/digits-chief",
         "Job/digits-worker", "Job/digits-ps", "Job/digits-evaluator"],
        list(_objects(_FULL)))
    for document in _objects(_FULL).values():
      self.assertEqual("research", document["metadata"]["namespace"])
    for document in _objects(_FULL._replace(namespace=None)).values():
      self.assertNotIn("namespace", document["metadata"])

  def test_commands(self):
    label = "-l app.kubernetes.io/instance=digits"
    self.assertEqual(
        {"Watch": f"kubectl -n research get jobs,pods {label}",
         "Output": "kubectl -n research logs -f job/digits-chief",
         "End": "kubectl delete -f FILE"}, kubernetes.commands(_FULL))
    self.assertEqual(f"kubectl get jobs,pods {label}", kubernetes.commands(
        _FULL._replace(namespace=None))["Watch"])

  def test_how_pods_end(self):
    spec = _objects(_FULL)["Job/digits-worker"]["spec"]
    self.assertEqual(
        [("Indexed", 3, 3, 5, 0, "Failed")],
        [(spec["completionMode"], spec["completions"], spec["parallelism"],
          spec["backoffLimitPerIndex"], spec["maxFailedIndexes"],
          spec["podReplacementPolicy"])])
    rules = spec["podFailurePolicy"]["rules"]
    self.assertEqual(
        [{"type": "DisruptionTarget", "status": "True"}],
        rules[0]["onPodConditions"])
    actions = {}
    for rule in rules[1:]:
      self.assertEqual("In", rule["onExitCodes"]["operator"])
      for status in rule["onExitCodes"]["values"]:
        actions.setdefault(status, rule["action"])
    self.assertEqual("Ignore", rules[0]["action"])
    expected = {143: "Ignore", 130: "Ignore", 1: None, 137: None, 139: None,
                2: "FailJob", 127: "FailJob",
                kubernetes.WRONG_PROGRAM: "FailJob"}
    self.assertEqual(expected, {x: actions.get(x) for x in expected})

  def test_selectors_find_the_pods_of_this_job_only(self):
    documents = _objects(_FULL)
    pods = [job["spec"]["template"]["metadata"]["labels"]
            for name, job in documents.items() if name.startswith("Job/")]
    others = [
        job["spec"]["template"]["metadata"]["labels"]
        for name, job in _objects(_FULL._replace(name="digits2")).items()
        if name.startswith("Job/")
    ]
    service = documents["Service/digits"]["spec"]
    policy = documents["NetworkPolicy/digits"]["spec"]
    selectors = [service["selector"], policy["podSelector"]["matchLabels"],
                 policy["ingress"][0]["from"][0]["podSelector"]["matchLabels"]]
    for selector in selectors:
      self.assertTrue(all(
          selector.items() <= labels.items() for labels in pods))
      self.assertFalse(any(
          selector.items() <= labels.items() for labels in others))
    self.assertEqual(["Ingress"], policy["policyTypes"])
    self.assertLen(policy["ingress"], 1)
    self.assertEqual([{"protocol": "TCP", "port": kubernetes.PORT}],
                     policy["ingress"][0]["ports"])
    self.assertTrue(service["publishNotReadyAddresses"])
    self.assertEqual("None", service["clusterIP"])

  def test_gpus_are_for_those_that_train(self):
    gpu_settings = {}
    for name, job in _objects(_FULL).items():
      if name.startswith("Job/"):
        gpu_settings[name] = (
            _container(job).get("resources", {}).get("limits"),
            _environment(job).get("CUDA_VISIBLE_DEVICES"))
    gpus = {"nvidia.com/gpu": 2}
    self.assertEqual(
        {"Job/digits-chief": (gpus, None), "Job/digits-worker": (gpus, None),
         "Job/digits-ps": (None, "-1"), "Job/digits-evaluator": (None, "-1")},
        gpu_settings)

  def test_volume(self):
    for name, job in _objects(_FULL).items():
      if name.startswith("Job/"):
        volume, = _pod(job)["volumes"]
        mount, = _container(job)["volumeMounts"]
        self.assertEqual(
            "models", volume["persistentVolumeClaim"]["claimName"])
        self.assertEqual({"name": volume["name"], "mountPath": "/model"}, mount)
        self.assertIn("--model_dir=/model", _container(job)["args"])

  def test_arguments_are_kept(self):
    job = _objects(_FULL._replace(
        command=("-m", "a.b", "$(HOME)", "$$", "é\n'\"")))["Job/digits-chief"]
    self.assertEqual(["adanet-launch"], _container(job)["command"])
    self.assertEqual(
        ["--model_dir=/model", "-m", "a.b", "$$(HOME)", "$$$$", "é\n'\""],
        _container(job)["args"])

  def test_job_ids_differ(self):
    self.assertNotEqual(kubernetes.new_job_id("a"), kubernetes.new_job_id("a"))

  @parameterized.named_parameters(
      ("upper_case", dict(name="Digits"), "--name: 'Digits', expected "),
      ("digit_first", dict(name="1a"), "--name: '1a', expected "),
      ("dash", dict(name="a-"), "--name: 'a-', expected "),
      ("newline", dict(name="a\n"), "--name: 'a\\n', expected "),
      ("long", dict(name="a" * 52),
       f"--name: '{'a' * 52}', expected at most 51 characters, not 52; use a "
       "shorter name."),
      ("long_worker", dict(name="a" * 51, num_workers=10001),
       f"--name: '{'a' * 51}', expected at most 50 characters, not 51; "),
      ("namespace", dict(namespace="a b"), "--namespace: 'a b', expected "),
      ("claim", dict(volume_claim="A"), "--volume_claim: 'A', expected "),
      ("image", dict(image="a b"), "--image: 'a b', expected "),
      ("no_image", dict(image=""), "--image: '', expected "),
      ("relative", dict(model_dir="model"), "--model_dir: 'model', expected "),
      ("no_folder", dict(model_dir=None), "--model_dir: '', expected "),
      ("not_shared", dict(volume_claim=None),
       "--model_dir: '/model', expected a URL such as gs://bucket/model, "))
  def test_bad_input_is_one_line(self, fields, message):
    with self.assertRaisesRegex(ValueError, "^" + re.escape(message)) as raised:
      kubernetes.manifests(_FULL._replace(**fields), "digits-1")
    self.assertNotIn("\n", str(raised.exception))


class PlaceTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=15)
  @hypothesis.given(_specs)
  def test_pods_agree(self, spec):
    places = []
    for name, job in _objects(spec).items():
      if not name.startswith("Job/"):
        continue
      hostnames = [
          "{}-{}.{}:{}".format(job["metadata"]["name"], index,
                               _pod(job)["subdomain"], kubernetes.PORT)
          for index in range(job["spec"]["completions"])
      ]
      for index, hostname in enumerate(hostnames):
        environment = dict(
            _environment(job), JOB_COMPLETION_INDEX=str(index))
        self.assertTrue(kubernetes.in_pod(environment))
        place = kubernetes.place(environment)
        places.append(place)
        if place.task.job != job_lib.EVALUATOR:
          self.assertEqual(
              hostname, place.job.addresses[place.task.job][place.task.index])
    job = places[0].job
    self.assertCountEqual(job.tasks(), [place.task for place in places])
    self.assertEqual(
        job_lib.make_tasks(spec.num_workers, spec.num_ps, spec.has_evaluator),
        job.tasks())
    for place in places:
      self.assertEqual((job, "digits-1"), (place.job, place.job_id))

  @parameterized.named_parameters(
      ("no_json", dict(ADANET_CLUSTER="x"), "ADANET_CLUSTER: 'x', expected "),
      ("no_object", dict(ADANET_CLUSTER="1"), "ADANET_CLUSTER: '1', expected "),
      ("no_name", dict(ADANET_CLUSTER="{}"), "ADANET_CLUSTER: '{}', expected "),
      ("none", dict(ADANET_CLUSTER=None), "ADANET_CLUSTER: '', expected "),
      ("index", dict(JOB_COMPLETION_INDEX="2"),
       "ADANET_TASK_TYPE, JOB_COMPLETION_INDEX: 'ps', '2', expected a task "),
      ("no_index", dict(JOB_COMPLETION_INDEX=None),
       "ADANET_TASK_TYPE, JOB_COMPLETION_INDEX: 'ps', '', expected a task "),
      ("type", dict(ADANET_TASK_TYPE="master"),
       "ADANET_TASK_TYPE, JOB_COMPLETION_INDEX: 'master', '1', expected "),
      ("job_id", dict(ADANET_JOB_ID=None), "ADANET_JOB_ID: not set, expected "))
  def test_bad_variables_are_one_line(self, variables, message):
    environment = {
        "ADANET_CLUSTER": json.dumps(
            {"name": "a", "workers": 1, "ps": 2, "evaluator": False}),
        "ADANET_TASK_TYPE": "ps",
        "ADANET_JOB_ID": "a-1",
        "JOB_COMPLETION_INDEX": "1",
    }
    self.assertEqual("ps:1", kubernetes.place(environment).task.name)
    environment.update(variables)
    environment = {k: v for k, v in environment.items() if v is not None}
    with self.assertRaisesRegex(ValueError, "^" + re.escape(message)) as raised:
      kubernetes.place(environment)
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.parameters(
      ({}, True),
      ({"ADANET_FAILURES": "0", "ADANET_STOPS": ""}, True),
      ({"ADANET_FAILURES": "1", "ADANET_STOPS": ""}, False),
      ({"ADANET_FAILURES": "0", "ADANET_STOPS": "2"}, False))
  def test_is_first_start(self, environment, expected):
    self.assertEqual(expected, kubernetes.is_first_start(environment))


if __name__ == "__main__":
  absltest.main()
