# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the command line of adanet-launch: what it prints and returns."""

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
from adanet.launch import main as launch_main
from adanet.launch import slurm
from adanet.testing import launches
from adanet.testing import processes

_TF_CONFIG = {"cluster": {"chief": ["c:1"], "ps": ["p:2"]},
              "task": {"type": "ps", "index": 0}}
_STEP = {"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0",
         "SLURM_STEP_NODELIST": "n1", "SLURM_STEP_NUM_TASKS": "4",
         "SLURM_STEP_TASKS_PER_NODE": "4", "SLURM_NODEID": "0",
         "SLURM_GTIDS": "0,1,2,3"}
_SHOW = """
import json, os, sys
if "ADANET_EVENTS_FD" in os.environ:
  os.write(int(os.environ["ADANET_EVENTS_FD"]),
           b'{"event": "Joined", "model_dir": "/m"}\\n')
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))
"""


class MainTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = os.path.realpath(self.create_tempdir().full_path)
    self.create_tempfile(os.path.join(self.folder, "train.py"), _SHOW)
    self.addCleanup(os.chdir, os.getcwd())
    self.addCleanup(signal.signal, signal.SIGPIPE,
                    signal.getsignal(signal.SIGPIPE))

  def run_main(self, *args, **variables):
    """Returns exit code, standard output and standard error, of this process.
    """
    environment = processes.python_environment(
        BUILD_WORKING_DIRECTORY=self.folder, **variables)
    output = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with mock.patch.dict(os.environ, environment, clear=True), \
        contextlib.redirect_stdout(output), \
        contextlib.redirect_stderr(io.StringIO()) as errors:
      try:
        code = launch_main.main(["adanet-launch"] + list(args))
      except SystemExit as end:
        code = end.code
    output.flush()
    return code, output.buffer.getvalue().decode(), errors.getvalue()

  def run_process(self, *args, **variables):
    """Returns the same, of a process of its own."""
    launch = self.enter_context(
        launches.Launch(*args, variables=variables, cwd=self.folder))
    result = launch.finish()
    self.assertEmpty(launch.left())
    return result

  @parameterized.parameters(
      ((), "no program: give the Python program"),
      (("--workers=-1", "train.py"), "--workers=-1: .*[0, 1000]"),
      (("--workers=1", "train.py"), "--ps=0: expected at least 1"),
      (("--dry_run", "--workers=1", "train.py"), "--ps=0: expected at least 1"),
      (("--ps=1", "no.py"), r"no\.py: expected a file"),
      (("--log_dir=train.py/x", "train.py"),
       "--log_dir=train.py/x: Not a directory. Expected a writable folder"),
      (("--model_dir=", "train.py"), "--model_dir='': expected the path"),
      (("--log_dir=", "train.py"), "--log_dir='': expected the path of a fol"),
      (("--max_restarts=-1", "train.py"), "--max_restarts=-1: "),
      (("--max_restarts=2147483648", "train.py"), r"\[0, 2147483647\]"),
      (("--scheduler=sge", "train.py"), "<local|slurm|kubernetes|task>"),
      (("--image=a", "train.py"), "--image: expected --scheduler=kubernetes"),
      (("--scheduler=task", "train.py"), "TF_CONFIG: not set, expected "),
      (("--scheduler=slurm", "train.py"), "SLURM_STEP_ID: not set, expected "),
      (("--scheduler=kubernetes", "--workers=1", "train.py"),
       "--ps=0: expected at least 1"),
      (("--scheduler=kubernetes", "--name=A", "train.py"), "--name: 'A', expe"))
  def test_bad_input(self, args, message):
    code, output, errors = self.run_main(*args)
    self.assertEqual((2, ""), (code, output))
    self.assertRegex(errors, "\\Aadanet-launch: .*\n\\Z")
    self.assertRegex(errors, message.replace("[0, 1000]", r"\[0, 1000\]"))

  def test_help(self):
    code, output, _ = self.run_main("--help")
    self.assertEqual(0, code)
    self.assertIn("Number of workers beside the chief", output)
    self.assertNotIn("absl", output)
    self.assertLessEqual(max(map(len, output.splitlines())), 80)

  def test_examples_of_the_help_are_flags(self):
    examples = re.findall(r"^  (?:TF_CONFIG=\S+ \S+ )?adanet-launch (.*)$",
                          launch_main.__doc__, re.MULTILINE)
    self.assertGreater(len(examples), 4)
    for example in examples:
      if "-m" not in example and "kubernetes" not in example:
        words = [word.replace("./train.sh", "train.py")
                 for word in shlex.split(example)]
        flags = [*words[:words.index("train.py")]]
        self.assertEqual(0, self.run_main(
            *(flags + ["--dry_run", "--ps=1", "train.py"]))[0], example)

  def test_dry_run(self):
    code, output, errors = self.run_main(
        "--scheduler=local", "--workers=1", "--ps=2", "--evaluator",
        "--model_dir=m", "--dry_run", "train.py")
    self.assertEqual((0, ""), (code, errors))
    names = re.findall("^# (.*)$", output, re.MULTILINE)
    self.assertEqual(
        ["chief:0", "worker:0", "ps:0", "ps:1", "evaluator:0"], names)
    lines = re.findall("^TF_CONFIG=(.*)$", output, re.MULTILINE)
    clusters = []
    for name, line in zip(names, lines):
      config = json.loads(shlex.split(line)[0])
      self.assertEqual(name, "{type}:{index}".format(**config["task"]))
      self.assertEqual(os.path.join(self.folder, "m"), config["model_dir"])
      clusters.append(config["cluster"])
    self.assertEqual([clusters[0]] * 5, clusters)
    self.assertEqual(
        {"chief": 1, "worker": 1, "ps": 2},
        {job: len(addresses) for job, addresses in clusters[0].items()})
    self.assertFalse(os.path.exists(os.path.join(self.folder, "m")))

  def test_plan(self):
    code, output, errors = self.run_process(
        "--scheduler=local", "--workers=2", "--ps=2", "--subnetworks=4",
        "--dry_run", "--strategy=replication", "train.py")
    self.assertEqual((0, ""), (code, errors))
    self.assertIn("ReplicationStrategy(): a chief and 2 workers, 2 parameter "
                  "servers, ", output)

  def test_dry_run_of_a_task(self):
    code, output, errors = self.run_main(
        "--scheduler=task", "--dry_run", "train.py",
        TF_CONFIG=json.dumps(_TF_CONFIG))
    self.assertEqual((0, ""), (code, errors))
    self.assertEqual(["TF_CONFIG=" + json.dumps(_TF_CONFIG)],
                     shlex.split(output))

  def test_environment_of_a_task(self):
    code, output, errors = self.run_process(
        "--scheduler=local", "--model_dir=m", "train.py", "--workers=7", "--",
        "a b",
        TF_CPP_MIN_LOG_LEVEL="0", MINE="1")
    self.assertEqual((0, ""), (code, errors))
    args, folder, environment = json.loads(output[len("[chief:0] "):])
    self.assertEqual(["--workers=7", "--", "a b"], args)
    self.assertEqual(self.folder, folder)
    model_dir = os.path.join(self.folder, "m")
    self.assertEqual(
        ("0", "1", model_dir), (environment["TF_CPP_MIN_LOG_LEVEL"],
                                environment["MINE"],
                                environment["ADANET_MODEL_DIR"]))
    self.assertEqual(model_dir, json.loads(environment["TF_CONFIG"])[
        "model_dir"])

  def test_home(self):
    _, output, _ = self.run_main(
        "--model_dir=~/m", "--dry_run", "train.py", HOME=self.folder)
    self.assertIn(f'"model_dir": "{self.folder}/m"', output)

  def test_task_of_the_environment(self):
    code, output, errors = self.run_process(
        "--model_dir=gs://m", "-m", "train", "-x",
        TF_CONFIG=json.dumps(_TF_CONFIG), ADANET_JOB_ID="job")
    self.assertEqual(
        (0, "adanet-launch: Using --scheduler=task: TF_CONFIG is set.\n"),
        (code, errors))
    args, _, environment = json.loads(output)
    self.assertEqual(["-x"], args)
    self.assertEqual(dict(_TF_CONFIG, model_dir="gs://m"),
                     json.loads(environment["TF_CONFIG"]))
    self.assertEqual("job", environment["ADANET_JOB_ID"])
    self.assertNotIn("ADANET_EVENTS_FD", environment)

  def test_flags_win_over_the_environment(self):
    _, output, errors = self.run_main(
        "--ps=1", "--dry_run", "train.py", TF_CONFIG=json.dumps(_TF_CONFIG))
    self.assertLen(output.splitlines(), 4)
    self.assertIn("Using --scheduler=local: the flags describe a cluster.\n",
                  errors)
    _, output, _ = self.run_main(
        "--scheduler=local", "--dry_run", "train.py",
        TF_CONFIG=json.dumps(_TF_CONFIG))
    self.assertStartsWith(output, "# chief:0\n")

  def test_bad_tf_config(self):
    self.assertEqual((2, ""), self.run_main("train.py", TF_CONFIG="{")[:2])

  def test_python_module_is_light(self):
    finished = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "adanet.launch",
         "--version"], env=processes.python_environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=True)
    self.assertEqual(
        f"adanet-launch {version.VERSION}\n", finished.stdout.decode())
    # Each of these takes longer to import than all of adanet-launch.
    self.assertNotRegex(
        finished.stderr.decode(), r"\| +(tensorflow|numpy|matplotlib|rich)\b")

  def _rank(self, rank, *arguments, run=None):
    return (run or self.run_main)(
        *arguments, **dict(_STEP, SLURM_PROCID=str(rank)))

  def test_process_of_srun_is_a_task(self):
    code, output, errors = self._rank(
        3, "--ps=1", "--evaluator", "--model_dir=/model", "train.py",
        run=self.run_process)
    self.assertEqual((0, ""), (code, errors))
    _, _, environment = json.loads(output)
    config = json.loads(environment["TF_CONFIG"])
    self.assertEqual(
        ("ps", "slurm-12.0-0", "-1", "/model"),
        (config["task"]["type"], environment["ADANET_JOB_ID"],
         environment["CUDA_VISIBLE_DEVICES"], config["model_dir"]))

  def test_dry_run_of_srun_prints_the_job_once(self):
    code, output, errors = self._rank(0, "--ps=2", "--dry_run", "train.py")
    self.assertEqual(
        (0, "adanet-launch: Using --scheduler=slurm: SLURM_STEP_ID is set.\n"),
        (code, errors))
    self.assertEqual(
        ["# chief:0", "# worker:0", "# ps:0", "# ps:1"],
        [line for line in output.splitlines() if line.startswith("#")])
    self.assertIn(f'"n1:{slurm.first_port(12, 0)}"', output)
    self.assertEqual(
        (0, "", ""), self._rank(1, "--ps=2", "--dry_run", "train.py"))

  @parameterized.parameters(
      (["--ps=4", "train.py"], "srun: 4 tasks, expected at least 5 (a chief, 4 "
       "ps); use srun --ntasks=5 or more."),
      (["--ps=1", "--log_dir=a", "train.py"],
       "--log_dir: expected --scheduler=local, got --scheduler=slurm."))
  def test_bad_input_is_said_once(self, arguments, message):
    self.assertEqual((2, "", f"adanet-launch: {message}\n"),
                     self._rank(0, *arguments))
    self.assertEqual((2, "", ""), self._rank(1, *arguments))

  def test_manifests(self):
    code, output, errors = self.run_main(
        "--scheduler=kubernetes", "--image=registry/a:1", "--workers=3",
        "--ps=2", "--name=digits", "--namespace=research", "--model_dir=/model",
        "--volume_claim=models", "--gpus_per_worker=1", "--max_restarts=4",
        "-m", "my.train", "--steps=3")
    self.assertEqual((0, """\
adanet-launch: Watch: kubectl -n research get jobs,pods \
-l app.kubernetes.io/instance=digits
adanet-launch: Output: kubectl -n research logs -f job/digits-chief
adanet-launch: End: kubectl delete -f FILE
"""), (code, errors))
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

  @parameterized.parameters((), ("--dry_run",))
  def test_bad_pod(self, *flags):
    self.assertEqual(
        (2, "", "adanet-launch: ADANET_CLUSTER: 'x', expected JSON with name, "
         "workers, ps and evaluator; print the manifests again.\n"),
        self.run_main("--scheduler=task", *flags, "train.py",
                      ADANET_CLUSTER="x"))

  def test_dry_run_of_a_pod(self):
    code, output, errors = self.run_main(
        "--dry_run", "train.py",
        ADANET_CLUSTER=json.dumps(
            {"name": "a", "workers": 1, "ps": 1, "evaluator": False}),
        ADANET_TASK_TYPE="worker", JOB_COMPLETION_INDEX="0",
        ADANET_JOB_ID="a-1")
    self.assertEqual(
        (0, "adanet-launch: Using --scheduler=task: ADANET_CLUSTER is set.\n"),
        (code, errors))
    self.assertIn('"worker": ["a-worker-0.a:2222"]', output)


if __name__ == "__main__":
  absltest.main()
