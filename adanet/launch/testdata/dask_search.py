# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A small search on the workers of Dask, and these, in one program.

  dask_search.py scheduler|worker ARGUMENT...   as the command dask
  dask_search.py search SCHEDULER_FILE MODEL_DIR NUM_WORKERS
"""

import sys

import search  # Of the same folder.


def _search(scheduler_file, model_dir, num_workers):
  """Trains on the workers of a scheduler, and ends all of them."""
  import distributed  # pylint: disable=g-import-not-at-top
  with distributed.Client(scheduler_file=scheduler_file) as client:
    client.wait_for_workers(int(num_workers), timeout=60)
    search.estimator(model_dir=model_dir).train(
        search.input_fn, executor=client.get_executor(pure=False))
    workers = client.scheduler_info()["workers"].values()
    hosts = {worker["host"] for worker in workers}
    print(f"trained on {len(workers)} workers of {len(hosts)} hosts")
    client.shutdown()


def main(command, *arguments):
  if command == "search":
    _search(*arguments)
  elif command == "scheduler":
    from distributed.cli import dask_scheduler  # pylint: disable=g-import-not-at-top
    dask_scheduler.main(arguments)
  else:
    from distributed.cli import dask_worker  # pylint: disable=g-import-not-at-top
    dask_worker.main(arguments)


if __name__ == "__main__":
  main(*sys.argv[1:])
