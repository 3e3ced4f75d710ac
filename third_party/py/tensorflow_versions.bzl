# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow versions that the build knows, and the setting of one of them.

To add a version, add a line to the table, write <name>.in beside this file and
run ./lock. A line `build:<name>` in .bazelrc makes it a --config.
"""

# Version -> the Python versions that its packages are locked for, the preferred
# one first. The first line is the default. ./find_python reads this table too.
PYTHONS = {
    "2.21": "3.11 3.12 3.13 3.10",
    "2.15": "3.11",
    "1.15": "3.7",
}

# Version -> its name in targets, repositories and files, as in "tf2_21".
TENSORFLOW_VERSIONS = {
    version: "tf" + version.replace(".", "_")
    for version in PYTHONS
}

DEFAULT_VERSION = TENSORFLOW_VERSIONS.keys()[0]

# The variables that name a Python: ADANET_PYTHON, ADANET_PYTHON_TF2_15, ...
PYTHON_VARIABLES = ["ADANET_PYTHON"] + [
    "ADANET_PYTHON_" + name.upper()
    for version, name in TENSORFLOW_VERSIONS.items()
    if version != DEFAULT_VERSION
]

def _tensorflow_version_impl(ctx):
    version = ctx.build_setting_value
    if version not in TENSORFLOW_VERSIONS:
        fail("tensorflow_version=%s: expected %s." %
             (version, ", ".join(TENSORFLOW_VERSIONS.keys())))

tensorflow_version = rule(
    implementation = _tensorflow_version_impl,
    build_setting = config.string(flag = True),
    doc = "The TensorFlow version that is built with: a key of the table.",
)
