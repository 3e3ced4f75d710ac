# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests the command line of adanet-launch under Slurm, and for Kubernetes."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import slurm
from adanet.testing import launches

_JOB = {"SLURM_JOB_ID": "12", "SLURM_NTASKS": "4", "SLURM_JOB_NUM_NODES": "1"}
_STEP = dict(_JOB, SLURM_STEP_ID="0", SLURM_STEP_NODELIST="n1",
             SLURM_STEP_NUM_TASKS="4", SLURM_STEP_TASKS_PER_NODE="4",
             SLURM_NODEID="0", SLURM_GTIDS="0,1,2,3")


class MainSchedulersTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._program = self.create_tempfile("train.py", """
import os
print(os.environ["TF_CONFIG"], os.environ["ADANET_JOB_ID"],
      os.environ.get("CUDA_VISIBLE_DEVICES"), sep="|")
""").full_path

  def _launch(self, *arguments, variables=None):
    """Returns exit status, standard output and error."""
    clean = {name: None for name in os.environ if name.startswith("SLURM_")}
    with launches.Launch(
        *arguments, variables=dict(clean, **(variables or {}))) as launch:
      return launch.finish()

  def _rank(self, rank, *arguments):
    return self._launch(
        *arguments, variables=dict(_STEP, SLURM_PROCID=str(rank)))

  def test_each_process_of_srun_is_a_task(self):
    found = []
    for rank in range(4):
      status, output, errors = self._rank(
          rank, "--ps=1", "--evaluator", "--model_dir=/model", self._program)
      self.assertEqual(
          (0, "" if rank else
           "adanet-launch: Using --scheduler=slurm: SLURM_STEP_ID is set.\n"),
          (status, errors))
      config, job_id, gpus = output.strip().split("|")
      config = json.loads(config)
      found.append((config["task"]["type"], job_id, gpus, config["model_dir"]))
    self.assertEqual(
        [("chief", "slurm-12.0-0", "None", "/model"),
         ("worker", "slurm-12.0-0", "None", "/model"),
         ("evaluator", "slurm-12.0-0", "None", "/model"),
         ("ps", "slurm-12.0-0", "-1", "/model")], found)

  def test_dry_run_of_srun_prints_the_job_once(self):
    status, output, _ = self._rank(0, "--ps=2", "--dry_run", self._program)
    self.assertEqual(0, status)
    self.assertEqual(
        ["# chief:0", "# worker:0", "# ps:0", "# ps:1"],
        [line for line in output.splitlines() if line.startswith("#")])
    self.assertIn(f'"n1:{slurm.first_port(12, 0)}"', output)
    self.assertEqual(
        (0, "", ""), self._rank(1, "--ps=2", "--dry_run", self._program))

  def test_bad_input_is_said_once(self):
    self.assertEqual(
        (2, "", "adanet-launch: srun: 4 tasks, expected at least 5 (a chief, 4 "
         "ps); use srun --ntasks=5 or more.\n"),
        self._rank(0, "--ps=4", self._program))
    self.assertEqual((2, "", ""), self._rank(1, "--ps=4", self._program))
    flags = ("--ps=1", "--log_dir=a", self._program)
    self.assertEqual(
        (2, "", "adanet-launch: --log_dir: expected --scheduler=local, got "
         "--scheduler=slurm.\n"), self._rank(0, *flags))
    self.assertEqual((2, "", ""), self._rank(1, *flags))

  def test_batch_script_without_srun(self):
    variables = dict(_JOB, SLURM_PROCID="0")
    self.assertEqual(
        (2, "", f"adanet-launch: {slurm.NEEDS_SRUN}\n"),
        self._launch("--ps=1", self._program, variables=variables))

  @parameterized.parameters(
      dict(_JOB, SLURM_PROCID="0"),
      dict(_STEP, SLURM_PROCID="0", SLURM_GTIDS="0", SLURM_STEP_NUM_TASKS="1",
           SLURM_STEP_TASKS_PER_NODE="1"))
  def test_local_cluster_without_srun(self, **variables):
    status, output, _ = self._launch(
        "--ps=1", "--workers=1", "--dry_run", self._program,
        variables=variables)
    self.assertEqual(0, status)
    self.assertIn("127.0.0.1:", output)

  def test_manifests(self):
    status, output, errors = self._launch(
        "--scheduler=kubernetes", "--image=registry/a:1", "--workers=3", "--ps=2",
        "--name=digits", "--namespace=research", "--model_dir=/model",
        "--volume_claim=models", "--gpus_per_worker=1", "--max_restarts=4",
        "-m", "my.train", "--steps=3")
    self.assertEqual((0, """\
adanet-launch: Watch: kubectl -n research get jobs,pods \
-l app.kubernetes.io/instance=digits
adanet-launch: Output: kubectl -n research logs -f job/digits-chief
adanet-launch: End: kubectl delete -f FILE
"""), (status, errors))
    jobs = {x["metadata"]["name"]: x for x in json.loads(output)["items"]
            if x["kind"] == "Job"}
    self.assertEqual(["digits-chief", "digits-worker", "digits-ps"], list(jobs))
    worker = jobs["digits-worker"]
    container, = worker["spec"]["template"]["spec"]["containers"]
    self.assertEqual(
        ("research", 3, 4, "registry/a:1",
         ["--model_dir=/model", "-m", "my.train", "--steps=3"],
         {"limits": {"nvidia.com/gpu": 1}}),
        (worker["metadata"]["namespace"], worker["spec"]["completions"],
         worker["spec"]["backoffLimitPerIndex"], container["image"],
         container["args"], container["resources"]))

  @parameterized.parameters(
      (["--name=A"], "--name: 'A', expected lower-case letters, digits and "
       "'-', with a letter first and no '-' at the end; use another name."),
      (["--image="], "--image: '', expected the name of a container image; use "
       "--image=REGISTRY/NAME:TAG."),
      (["--ps=0"], "--ps=0: expected at least 1 with --workers=1, to hold the "
       "variables that the tasks share."))
  def test_bad_manifests(self, arguments, message):
    self.assertEqual(
        (2, "", f"adanet-launch: {message}\n"),
        self._launch("--scheduler=kubernetes", "--image=a", "--workers=1",
                     "--ps=1", *arguments, "train.py"))

  def test_bad_pod(self):
    for flags in ((), ("--dry_run",)):
      status, _, errors = self._launch(
          "--scheduler=task", *flags, self._program,
          variables={"ADANET_CLUSTER": "x"})
      self.assertEqual(2, status, errors)
      self.assertEqual(
          "adanet-launch: ADANET_CLUSTER: 'x', expected JSON with name, "
          "workers, ps and evaluator; print the manifests again.\n", errors)

  def test_dry_run_of_a_pod(self):
    status, output, errors = self._launch(
        "--dry_run", self._program, variables={
            "ADANET_CLUSTER": json.dumps(
                {"name": "a", "workers": 1, "ps": 1, "evaluator": False}),
            "ADANET_TASK_TYPE": "worker", "JOB_COMPLETION_INDEX": "0",
            "ADANET_JOB_ID": "a-1"})
    self.assertEqual(
        (0, "adanet-launch: Using --scheduler=task: ADANET_CLUSTER is set.\n"),
        (status, errors))
    self.assertIn('"worker": ["a-worker-0.a:2222"]', output)


if __name__ == "__main__":
  absltest.main()
