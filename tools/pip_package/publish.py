# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Uploads the wheel and the sdist to a package index.

twine uploads them. It takes the credentials from TWINE_USERNAME and
TWINE_PASSWORD, or from the keyring. The exit code is 0 if both are uploaded, 1
if the index or twine refuses one, and 2 if the arguments are wrong.
"""

import contextlib
import logging
import os
import sys
from urllib import parse

from absl import app
from absl import flags
from adanet import version
import requests
import runfiles
from twine import exceptions
from twine import settings
from twine.commands import upload

_REPOSITORY_URL = flags.DEFINE_string(
    "repository-url", None,
    "Where to upload to: the URL of the index that takes uploads.")

_DISTRIBUTIONS = ("adanet_distributed-{}-py3-none-any.whl",
                  "adanet_distributed-{}.tar.gz")

# How indexes say that they have a file and do not replace it: the status, and
# words in the answer. For 409 the words do not matter.
_HAS_FILE = {
    400: ("already exist", "already been taken", "updating asset"),
    403: ("already exist", "overwrite"),
    409: ("",),
}

# Exceptions of twine, and what they mean. The first one that fits counts.
_MEANINGS = (
    (exceptions.NonInteractive,
     "no user name and password for {url}: set TWINE_USERNAME and "
     "TWINE_PASSWORD, or store them in the keyring."),
    (UnicodeEncodeError,  # It is not shown, as it has a part of a password.
     "TWINE_USERNAME or TWINE_PASSWORD has a character that is not in Latin-1, "
     "and HTTP sends no other."),
    (requests.exceptions.SSLError,
     "{url} has no certificate that is trusted here: check --repository-url, "
     "and name the file of its certificate authority in TWINE_CERT."),
    (requests.ConnectionError,
     "no index answers at {url}: check --repository-url, the network and the "
     "proxy."),
)


class UsageError(Exception):
  """The arguments are wrong. The message is one line."""


class UploadError(Exception):
  """The upload failed. The message is one line."""


def _repository_url():
  """Returns the URL that is given, or raises a UsageError."""
  url = _REPOSITORY_URL.value
  if not url:
    raise UsageError("no index given: add --repository-url=https://…")
  try:
    parts = parse.urlsplit(url)
    valid = parts.scheme in ("http", "https") and parts.hostname
    has_user = parts.username is not None
  except ValueError:
    valid = has_user = False
  if has_user or (not valid and "@" in url):
    # Not shown, as it may hold a password.
    raise UsageError("--repository-url has a user name in it: take it out, and "
                     "set TWINE_USERNAME and TWINE_PASSWORD instead.")
  if not valid:
    raise UsageError(f"--repository-url={url}: expected http://… or https://…")
  return url


def _explain_response(response, url):
  """Returns in one line why an index refused a file."""
  code = response.status_code
  answer = f"{response.reason}\n{response.text}".lower()
  status = f"{code} {response.reason}"
  if any(words in answer for words in _HAS_FILE.get(code, ())):
    return (f"{url} has version {version.VERSION} already, and leaves it as it "
            "is: raise VERSION in adanet/version.py.")
  if code in (401, 403):
    return (f"{url} refuses the user name or the password ({status}): check "
            "TWINE_USERNAME and TWINE_PASSWORD, or the keyring.")
  if code in (404, 405):
    return (f"{url} is not where an index takes uploads ({status}): check "
            "--repository-url.")
  return f"{url} answers {status}."


def _upload(path, url):
  """Uploads a file, or raises an UploadError."""
  try:
    # twine writes several lines for each file.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
      upload.upload(
          settings.Settings(
              username=os.environ.get("TWINE_USERNAME"),
              password=os.environ.get("TWINE_PASSWORD"),
              cacert=os.environ.get("TWINE_CERT"),
              repository_url=url,
              non_interactive=True,
              disable_progress_bar=True), [path])
  except requests.HTTPError as e:
    raise UploadError(_explain_response(e.response, url)) from e
  except (OSError, UnicodeEncodeError, exceptions.TwineException) as e:
    meaning = next((text for kind, text in _MEANINGS if isinstance(e, kind)),
                   "{url}: {error}")
    raise UploadError(meaning.format(
        url=url, error=" ".join(str(e).split()))) from e


def publish(url):
  """Uploads the wheel and the sdist to an index, or raises an UploadError."""
  files = runfiles.Create()
  for name in _DISTRIBUTIONS:
    name = name.format(version.VERSION)
    _upload(files.Rlocation("adanet/tools/pip_package/" + name), url)
    print(f"uploaded {name} to {url}", flush=True)


def _parse_flags(argv):
  with contextlib.suppress(flags.Error):
    argv = flags.FLAGS(argv)
    if len(argv) == 1:
      return argv
  # The other arguments are not shown, as one may be a password.
  print("publish: expected --repository-url=https://… and nothing else.",
        file=sys.stderr)
  sys.exit(2)


def main(_):
  for library in ("keyring", "twine", "urllib3"):
    # Their exceptions say the same.
    logging.getLogger(library).addHandler(logging.NullHandler())
    logging.getLogger(library).propagate = False
  try:
    publish(_repository_url())
  except (UsageError, UploadError) as e:
    print(f"publish: {e}", file=sys.stderr)
    return 2 if isinstance(e, UsageError) else 1


def run():
  app.run(main, flags_parser=_parse_flags)


if __name__ == "__main__":
  run()
