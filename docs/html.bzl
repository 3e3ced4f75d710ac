# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A rule that writes HTML with Sphinx."""

def _sphinx_html_impl(ctx):
    output = ctx.actions.declare_directory(ctx.label.name + "_html")
    arguments = ctx.actions.args()
    arguments.add("--output=" + output.path)
    arguments.add_all(ctx.files.srcs)
    ctx.actions.run(
        executable = ctx.executable.tool,
        arguments = [arguments],
        # Sphinx writes the date into what it makes.
        env = {"SOURCE_DATE_EPOCH": "0"},
        execution_requirements = {"block-network": ""},
        inputs = ctx.files.srcs,
        mnemonic = "SphinxHtml",
        outputs = [output],
        progress_message = "Writing the documentation",
    )
    return [DefaultInfo(files = depset([output]))]

sphinx_html = rule(
    implementation = _sphinx_html_impl,
    attrs = {
        "srcs": attr.label_list(
            allow_files = True,
            doc = "The pages and Sphinx's conf.py, all in one folder.",
            mandatory = True,
        ),
        "tool": attr.label(
            cfg = "exec",
            doc = "Takes --output=FOLDER and the sources.",
            executable = True,
            mandatory = True,
        ),
    },
    doc = "A folder of HTML. A warning of Sphinx's is an error.",
)
