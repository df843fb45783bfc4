"""Factors over persona, model, prompt and rule settings: each reaches the minds or the world of its trials."""

import pytest
from tests.kits.choices import chosen_by_prompt
from tests.kits.experiments import CLEARING, quiet_run

from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.llm.testing import FakeProvider
from tickmind.record import RunStore
from tickmind.world import load_scenario

FILE = """
experiment: kinds
scenario: {scenario}
agents: agents.yaml
ticks: 12
seeds: 1
keep: runs
model: {{base_url: "{base_url}", name: small}}
factors:
  change:
    none: {{}}
    persona: {{"personas.entity:1.voice": in rhymes}}
    model: {{agents.villager.settings.model: large}}
    prompt: {{agents.villager.settings.personality: You hum all day.}}
    rule: {{rules.text_limit_chars: 7}}
measures: {{said: {{sql: SELECT count(*) FROM utterances}}}}
"""
AGENTS = """
agents: {villager: {cmd: [python, -m, tickmind.characters.villager], settings: {food: [berries]}}}
assignments: [{match: {}, use: villager}]
"""


@pytest.mark.slow
def test_factors_reach_persona_model_prompt_and_rules(tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_API_KEY", "k")
    (tmp_path / "scenario.yaml").write_text(
        CLEARING.read_text() + '\npersonas: {"entity:1": {name: Ada, voice: plainly}}\n'
    )
    (tmp_path / "agents.yaml").write_text(AGENTS)
    file = tmp_path / "kinds.yaml"
    with FakeProvider.in_thread(
        lambda request: chosen_by_prompt(request.messages[-1].text), models=("small", "large")
    ) as provider:
        file.write_text(FILE.format(scenario=tmp_path / "scenario.yaml", base_url=provider.base_url))
        result = quiet_run(read_experiment(file), tmp_path / "out")
    assert result.is_whole, result.problems
    thoughts, rules = {}, {}
    store = RunStore(tmp_path / "out" / "runs")
    for one in result.outcomes:
        change = dict(one.levels)["change"]
        with store.open(one.run_id) as run:
            thoughts[change] = [report.thought for report in run.thoughts() if report.thought.reply]
        rules[change] = load_scenario(store.folder(one.run_id) / "scenario.yaml").rules
    assert min(map(len, thoughts.values())) >= 1
    prompts = {
        change: "\n".join(f"{one.system_prompt}\n{one.user_message}" for one in several)
        for change, several in thoughts.items()
    }
    assert [change for change, text in prompts.items() if "in rhymes" in text] == ["persona"]
    assert [change for change, text in prompts.items() if "You hum all day." in text] == ["prompt"]
    assert {change: {one.model for one in several} for change, several in thoughts.items()} == {
        "none": {"small"},
        "persona": {"small"},
        "model": {"large"},
        "prompt": {"small"},
        "rule": {"small"},
    }
    assert [change for change, one in rules.items() if one.text_limit_chars == 7] == ["rule"]
