# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A test that Bazel refuses to analyze a target, and says why."""

_allowing_failures = analysis_test_transition(settings = {
    "//command_line_option:allow_analysis_failures": "True",
})

def _analysis_failure_test_impl(ctx):
    target = ctx.attr.target[0]  # The transition makes a list of it.
    if AnalysisFailureInfo in target:
        causes = target[AnalysisFailureInfo].causes.to_list()
        actual = "\n".join([cause.message for cause in causes])
    else:
        actual = "no failure"
    return [AnalysisTestResultInfo(
        success = ctx.attr.message in actual,
        message = "Expected: %s\nFound: %s" % (ctx.attr.message, actual),
    )]

analysis_failure_test = rule(
    implementation = _analysis_failure_test_impl,
    analysis_test = True,
    attrs = {
        "message": attr.string(
            doc = "A part of the error message.",
            mandatory = True,
        ),
        "target": attr.label(
            cfg = _allowing_failures,
            doc = "Tagged as manual, so that nothing else builds it.",
            mandatory = True,
        ),
    },
)
