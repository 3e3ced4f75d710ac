# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A test that Bazel refuses a target, and what it says."""

_allowing_failures = analysis_test_transition(settings = {
    "//command_line_option:allow_analysis_failures": "True",
})

def _analysis_failure_test_impl(ctx):
    target = ctx.attr.target[0]  # A transition makes a list of it.
    if AnalysisFailureInfo not in target:
        message = "%s was not refused." % target.label
        return [AnalysisTestResultInfo(success = False, message = message)]
    causes = target[AnalysisFailureInfo].causes.to_list()
    said = "\n".join([cause.message for cause in causes])
    missing = [m for m in ctx.attr.messages if m not in said]
    return [AnalysisTestResultInfo(
        success = not missing,
        message = "It does not say %s but:\n%s" % (missing, said),
    )]

analysis_failure_test = rule(
    implementation = _analysis_failure_test_impl,
    analysis_test = True,
    attrs = {
        "messages": attr.string_list(
            doc = "What the refusal must say, each of these.",
            mandatory = True,
        ),
        "target": attr.label(
            cfg = _allowing_failures,
            doc = "Tagged as manual, so that nothing else builds it.",
            mandatory = True,
        ),
    },
)
