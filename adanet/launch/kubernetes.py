# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests of a job, and the place of a pod in a job.

  adanet-launch --scheduler=kubernetes --image=IMAGE --workers=3 --ps=2 \
    train.py | kubectl create -f -

No operator is needed, only Kubernetes itself (1.33 or later; from 1.29 on as
beta). Each kind of task is an Indexed Job, and a headless Service gives each
pod a name that stays when the pod is replaced, such as adanet-ps-0.adanet. The
command of each pod is adanet-launch, which makes TF_CONFIG from the variables
ADANET_CLUSTER (the shape, as JSON), ADANET_TASK_TYPE and JOB_COMPLETION_INDEX
(see `place`), and runs the program (see `pod`).

The end of a pod decides the next step:

- 0: the task is done.
- 143, 130, or Kubernetes has evicted the pod: the job was stopped, in order.
  The pod is replaced, and `max_restarts` does not count the replacement.
- `WRONG_PROGRAM`, or the command cannot be run: the Job fails at once.
- Anything else: the pod is replaced `max_restarts` times, later and later. Then
  the Job fails.

All pods of a set of manifests have the same ADANET_JOB_ID, which is new each
time adanet-launch prints manifests.
"""

import json
import re
import uuid
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from adanet import typed_json
from adanet.launch import job as job_lib

# Each pod has an address of its own, so all use one port.
PORT = 2222

# adanet-launch ends in a pod with this if the program failed before it ever got
# to work, or took no part in the job: EX_CONFIG of <sysexits.h>.
WRONG_PROGRAM = 78

# A shell's and Kubernetes' own: wrong usage, no such command, cannot start.
_CANNOT_RUN = [2, WRONG_PROGRAM, 126, 127, 128]
_STOPPED = [130, 143]

_MAX_LABEL = 63  # RFC 1123.
_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_CLAIM = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_USER = 1000
_FAILURES = "metadata.annotations['batch.kubernetes.io/job-index-{}']"


class _Cluster(NamedTuple):
  """The value of ADANET_CLUSTER; see `Spec`."""
  name: str
  workers: int
  ps: int
  evaluator: bool


class Spec(NamedTuple):
  """The content of the manifests of a job.

  Attributes:
    image: the container image, which has adanet-launch and the program.
    name: of the Service; the names of Jobs and pods begin with it.
    namespace: of all objects; None for that of kubectl.
    model_dir: the folder that all tasks see, or None if the program names the
      folder.
    volume_claim: the PersistentVolumeClaim that is mounted at `model_dir`, or
      None. The access mode must be ReadWriteMany.
    gpus_per_worker: how many GPUs the chief and each worker get.
  """
  image: str
  command: Sequence[str]
  num_workers: int = 0
  num_ps: int = 0
  has_evaluator: bool = False
  name: str = "adanet"
  namespace: Optional[str] = None
  max_restarts: int = 3
  model_dir: Optional[str] = None
  volume_claim: Optional[str] = None
  gpus_per_worker: int = 0


def _check(spec: Spec) -> None:
  """Raises ValueError, in one line, if Kubernetes would refuse the manifests.
  """
  _check_name("--name", spec.name, _LABEL, _MAX_LABEL - max(
      len(_hostname("", task)) for task in _last_tasks(spec)))
  if spec.namespace is not None:
    _check_name("--namespace", spec.namespace, _NAMESPACE, _MAX_LABEL)
  if spec.volume_claim is not None:
    _check_name("--volume_claim", spec.volume_claim, _CLAIM, 253)
    if not (spec.model_dir or "").startswith("/"):
      raise ValueError(
          f"--model_dir: {spec.model_dir or ''!r}, expected the absolute path "
          f"where --volume_claim={spec.volume_claim} is mounted; add "
          "--model_dir=/model.")
  elif spec.model_dir is not None and "://" not in spec.model_dir:
    raise ValueError(
        f"--model_dir: {spec.model_dir!r}, expected a URL such as "
        "gs://bucket/model, because pods do not share paths; add "
        "--volume_claim=NAME to mount a volume there.")
  if not spec.image or spec.image.split() != [spec.image]:
    raise ValueError(f"--image: {spec.image!r}, expected the name of a "
                     "container image; use --image=REGISTRY/NAME:TAG.")


def _check_name(flag, value, pattern, max_length):
  if not pattern.fullmatch(value):
    raise ValueError(
        f"{flag}: {value!r}, expected lower-case letters, digits and '-', with "
        "a letter first and no '-' at the end; use another name.")
  if len(value) > max_length:
    raise ValueError(
        f"{flag}: {value!r}, expected at most {max_length} characters, not "
        f"{len(value)}; use a shorter name.")


def _last_tasks(spec: Spec) -> List[job_lib.Task]:
  """Returns the task with the longest name of each kind."""
  tasks = job_lib.make_tasks(spec.num_workers, spec.num_ps, spec.has_evaluator)
  return list({task.job: task for task in tasks}.values())


def _hostname(name: str, task: job_lib.Task) -> str:
  return f"{name}-{task.job}-{task.index}"


def new_job_id(name: str) -> str:
  """Returns an `ADANET_JOB_ID` that no other job has."""
  return f"{name}-{uuid.uuid4().hex[:12]}"


def manifests(spec: Spec, job_id: str) -> str:
  """Returns the manifests of a job as JSON: a `List` of objects.

  They are Service, NetworkPolicy and Jobs.
  """
  _check(spec)
  return json.dumps({
      "apiVersion": "v1",
      "kind": "List",
      "items": [_service(spec), _network_policy(spec)] + [
          _job(spec, job_id, last.job, last.index + 1)
          for last in _last_tasks(spec)],
  }, indent=2) + "\n"


def commands(spec: Spec) -> Dict[str, str]:
  """Returns the commands for a running job, by purpose."""
  kubectl = f"kubectl -n {spec.namespace}" if spec.namespace else "kubectl"
  return {
      "Watch": f"{kubectl} get jobs,pods "
               f"-l app.kubernetes.io/instance={spec.name}",
      "Output": f"{kubectl} logs -f job/{spec.name}-chief",
      "End": "kubectl delete -f FILE",
  }


def _labels(spec: Spec, kind: Optional[str] = None) -> Dict[str, str]:
  labels = {
      "app.kubernetes.io/name": "adanet",
      "app.kubernetes.io/instance": spec.name,
  }
  if kind:
    labels["app.kubernetes.io/component"] = kind
  return labels


def _metadata(spec: Spec, name: str,
              kind: Optional[str] = None) -> Dict[str, Any]:
  metadata: Dict[str, Any] = {"name": name}
  if spec.namespace is not None:
    metadata["namespace"] = spec.namespace
  metadata["labels"] = _labels(spec, kind)
  return metadata


def _service(spec: Spec) -> Dict[str, Any]:
  return {
      "apiVersion": "v1",
      "kind": "Service",
      "metadata": _metadata(spec, spec.name),
      "spec": {
          "clusterIP": "None",
          # Tasks find each other before they serve.
          "publishNotReadyAddresses": True,
          "selector": _labels(spec),
          "ports": [{"name": "grpc", "port": PORT}],
      },
  }


def _network_policy(spec: Spec) -> Dict[str, Any]:
  # TensorFlow's servers run any graph, for everybody who reaches them.
  return {
      "apiVersion": "networking.k8s.io/v1",
      "kind": "NetworkPolicy",
      "metadata": _metadata(spec, spec.name),
      "spec": {
          "podSelector": {"matchLabels": _labels(spec)},
          "policyTypes": ["Ingress"],
          "ingress": [{
              "from": [{"podSelector": {"matchLabels": _labels(spec)}}],
              "ports": [{"protocol": "TCP", "port": PORT}],
          }],
      },
  }


def _job(spec: Spec, job_id: str, kind: str, count: int) -> Dict[str, Any]:
  return {
      "apiVersion": "batch/v1",
      "kind": "Job",
      "metadata": _metadata(spec, f"{spec.name}-{kind}", kind),
      "spec": {
          "completionMode": "Indexed",
          "completions": count,
          "parallelism": count,
          "backoffLimitPerIndex": spec.max_restarts,
          "maxFailedIndexes": 0,
          # Never two pods of one task.
          "podReplacementPolicy": "Failed",
          "podFailurePolicy": {
              "rules": [{
                  "action": "Ignore",
                  "onPodConditions": [
                      {"type": "DisruptionTarget", "status": "True"}
                  ],
              }, {
                  "action": "Ignore",
                  "onExitCodes": {"operator": "In", "values": _STOPPED},
              }, {
                  "action": "FailJob",
                  "onExitCodes": {"operator": "In", "values": _CANNOT_RUN},
              }],
          },
          "template": {
              "metadata": {"labels": _labels(spec, kind)},
              "spec": _pod(spec, job_id, kind),
          },
      },
  }


def _pod(spec: Spec, job_id: str, kind: str) -> Dict[str, Any]:
  pod: Dict[str, Any] = {
      "restartPolicy": "Never",
      "subdomain": spec.name,
      # No task here asks Kubernetes anything.
      "automountServiceAccountToken": False,
      "enableServiceLinks": False,
      "securityContext": {
          "runAsNonRoot": True,
          "runAsUser": _USER,
          "runAsGroup": _USER,
          "fsGroup": _USER,
          "fsGroupChangePolicy": "OnRootMismatch",
          "seccompProfile": {"type": "RuntimeDefault"},
      },
  }
  if kind == job_lib.PS:
    # Their network links limit a job first.
    pod["topologySpreadConstraints"] = [{
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _labels(spec, kind)},
    }]
  pod["containers"] = [_container(spec, job_id, kind)]
  if spec.volume_claim is not None:
    pod["volumes"] = [{
        "name": "model-dir",
        "persistentVolumeClaim": {"claimName": spec.volume_claim},
    }]
  return pod


def _container(spec: Spec, job_id: str, kind: str) -> Dict[str, Any]:
  trains = kind in job_lib.TRAINS
  options = [] if spec.model_dir is None else ["--model_dir=" + spec.model_dir]
  cluster = typed_json.to_json(_Cluster, _Cluster(
      spec.name, spec.num_workers, spec.num_ps, spec.has_evaluator))
  environment: List[Dict[str, Any]] = [
      {"name": "ADANET_CLUSTER", "value": json.dumps(cluster)},
      {"name": "ADANET_TASK_TYPE", "value": kind},
      {"name": "ADANET_JOB_ID", "value": job_id},
      {"name": "PYTHONUNBUFFERED", "value": "1"},
  ]
  # How often this task was replaced because it failed, and for other reasons.
  for name, annotation in (("ADANET_FAILURES", "failure-count"),
                           ("ADANET_STOPS", "ignored-failure-count")):
    environment.append({"name": name, "valueFrom": {
        "fieldRef": {"fieldPath": _FAILURES.format(annotation)}}})
  if not trains:
    environment.append({"name": "CUDA_VISIBLE_DEVICES", "value": "-1"})
  container: Dict[str, Any] = {
      "name": "adanet",
      "image": spec.image,
      "command": ["adanet-launch"],
      # Kubernetes puts variables where it finds $(NAME).
      "args": [argument.replace("$", "$$")
               for argument in options + list(spec.command)],
      "env": environment,
      "ports": [{"name": "grpc", "containerPort": PORT}],
      "securityContext": {
          "allowPrivilegeEscalation": False,
          "capabilities": {"drop": ["ALL"]},
      },
  }
  if trains and spec.gpus_per_worker:
    container["resources"] = {
        "limits": {"nvidia.com/gpu": spec.gpus_per_worker}}
  if spec.volume_claim is not None:
    container["volumeMounts"] = [
        {"name": "model-dir", "mountPath": spec.model_dir}]
  return container


def in_pod(environ: Mapping[str, str]) -> bool:
  """Returns whether this process runs in a pod of the manifests."""
  return "ADANET_CLUSTER" in environ and "TF_CONFIG" not in environ


def place(environ: Mapping[str, str]) -> job_lib.Place:
  """Returns which task of which job a pod is.

  Raises:
    ValueError: a variable is absent or wrong.
  """
  text = environ.get("ADANET_CLUSTER", "")
  try:
    name, *shape = typed_json.from_json(_Cluster, typed_json.loads(text))
  except ValueError:
    raise ValueError(
        f"ADANET_CLUSTER: {text!r}, expected JSON with name, workers, ps and "
        "evaluator; print the manifests again.") from None
  tasks = job_lib.make_tasks(*shape)
  kind = environ.get("ADANET_TASK_TYPE", "")
  index = environ.get("JOB_COMPLETION_INDEX", "")
  by_name = {(task.job, str(task.index)): task for task in tasks}
  if (kind, index) not in by_name:
    raise ValueError(
        f"ADANET_TASK_TYPE, JOB_COMPLETION_INDEX: {kind!r}, {index!r}, "
        f"expected a task of {text}; print the manifests again.")
  if not environ.get("ADANET_JOB_ID"):
    raise ValueError("ADANET_JOB_ID: not set, expected the id of the job; "
                     "print the manifests again.")
  job = job_lib.make_job(*shape, [
      f"{_hostname(name, task)}.{name}:{PORT}"
      for task in tasks if task.job != job_lib.EVALUATOR])
  return job_lib.Place(job, by_name[kind, index], environ["ADANET_JOB_ID"])


def is_first_start(environ: Mapping[str, str]) -> bool:
  """Returns whether the task of this pod has never been replaced."""
  # Without an annotation its variable is empty.
  return not any(int(environ.get(name) or 0)
                 for name in ("ADANET_FAILURES", "ADANET_STOPS"))
