"""The figures of a runner for Prometheus, and the counters that its agents report."""

from prometheus_client.parser import text_string_to_metric_families

from tickmind.protocol import AgentState, AgentStatus
from tickmind.runner import Runner, load_mapping
from tickmind.runner.metrics import metrics_of

MAPPING = "agents:\n  walker: {cmd: [python, -m, tickmind.characters.random_walker]}\nassignments: []\n"


def status(**counts):
    return AgentStatus("entity:1", 5, AgentState.RUNNING, **counts)


def read(runner):
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics_of(runner))
        for sample in family.samples
    }


def make(tmp_path):
    mapping = tmp_path / "agents.yaml"
    mapping.write_text(MAPPING)
    return Runner(load_mapping(mapping), tmp_path)


def test_the_page_is_readable_before_there_is_an_agent(tmp_path):
    found = read(make(tmp_path))
    assert found["tickmind_runner_processes",] == 0
    assert found["tickmind_runner_agents", "running"] == 0
    assert found["tickmind_runner_restarts_total",] == 0


def test_counters_of_an_agent_go_on_over_its_restart(tmp_path):
    runner = make(tmp_path)
    for one in (status(thoughts=3, intents=10), status(thoughts=4, intents=30), status(thoughts=0, intents=2)):
        runner.sight.count(one)
    found = read(runner)
    assert found["tickmind_agent_thoughts_total", "gone"] == 4
    assert found["tickmind_agent_intents_total", "gone"] == 32
    runner.sight.count(status(thoughts=1, intents=5))
    assert read(runner)["tickmind_agent_intents_total", "gone"] == 35
