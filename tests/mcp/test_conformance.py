"""The conformance suite of the Model Context Protocol, both revisions: every scored scenario is a
test."""

import pytest

import conformance

BOTH = """
completion-complete tools-list tools-call-simple-text tools-call-image tools-call-audio
tools-call-embedded-resource tools-call-mixed-content tools-call-error tools-call-with-progress
server-sse-multiple-streams resources-list resources-read-text resources-read-binary
resources-templates-read prompts-list prompts-get-simple prompts-get-with-args
prompts-get-embedded-resource prompts-get-with-image dns-rebinding-protection
"""
SCORED = {
    "2025-11-25": BOTH + """
        server-initialize logging-set-level ping tools-call-with-logging tools-call-sampling
        tools-call-elicitation elicitation-sep1034-defaults elicitation-sep1330-enums
        resources-subscribe resources-unsubscribe""",
    "2026-07-28": BOTH + """
        server-stateless sep-2164-resource-not-found caching input-required-result-basic-elicitation
        input-required-result-basic-sampling input-required-result-basic-list-roots
        input-required-result-request-state input-required-result-multiple-input-requests
        input-required-result-multi-round input-required-result-missing-input-response
        input-required-result-non-tool-request input-required-result-result-type
        input-required-result-unsupported-methods input-required-result-tampered-state
        input-required-result-capability-check input-required-result-ignore-extra-params
        input-required-result-validate-input""",
}
SCORED = {revision: names.split() for revision, names in SCORED.items()}


@pytest.fixture(scope="module")
def runs(peers, server):
    return conformance.run(peers.node, peers.suite, server.url)


@pytest.mark.parametrize("revision", conformance.REVISIONS)
def test_the_suite_scores_what_is_listed_here(runs, revision):
    scenarios, text = runs[revision]
    assert {s.name for s in scenarios.values() if not s.why} == set(SCORED[revision]), text[-4000:]


@pytest.mark.parametrize("revision,name", [(revision, name) for revision, names in SCORED.items()
                                           for name in names])
def test_a_scored_scenario_passes(runs, revision, name):
    scenarios, text = runs[revision]
    assert name in scenarios, text[-4000:]
    began = text.find(f"=== Running scenario: {name} ===")
    assert not scenarios[name].failed, text[began:began + 4000]
    assert scenarios[name].passed


def test_the_page_says_what_the_suite_found(runs, peers):
    told = conformance.page(runs, conformance.version_of(peers.modules))
    assert conformance.PAGE.read_text() == told, "run: python3 tests/mcp/conformance.py"
