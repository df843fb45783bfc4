"""What keeps a mapping from running, told before anything starts."""

import pytest

from tickmind.base.problems import ConfigFileError
from tickmind.protocol import EntityInfo
from tickmind.runner import check_mapping, check_start

EVERYBODY = [EntityInfo("anna", "villager", ("npc",)), EntityInfo("ben", "wolf", ("npc", "wild"))]
ENV = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def check(tmp_path):
    """Check a mapping whose one agent has this command; gives what is wrong with it, or nothing."""

    def complaint(cmd="[python, here.py]", rules="[{match: {}, use: a}]", more="", entities=None, env=ENV, start=False):
        file = tmp_path / "agents.yaml"
        file.write_text(f"agents:\n  a: {{cmd: {cmd}{more}}}\nassignments: {rules}\n")
        (tmp_path / "here.py").write_text("raise SystemExit('it is not run')")
        try:
            if start:
                check_start(file, env)
            else:
                check_mapping(file, env, entities)
        except ConfigFileError as error:
            return str(error)
        return ""

    return complaint


@pytest.mark.parametrize(
    "cmd",
    [
        "[python, here.py]",
        "[python3, -u, ./here.py, --fast]",
        "[python, -W, error, here.py]",
        "[python, -m, here]",
        "[python, -Im, pack.inner, there]",
        "[python, -m, pack]",
        "[python, -m, tickmind.characters.berry_eater]",
        "[python, -m, json.tool]",
        "[python, -c, 'pass']",
        "[python, '-']",
        "[sleep, '600']",
        "[./tool, x]",
        "[/bin/sh, -c, 'exit 1']",
    ],
)
def test_a_command_that_is_there_is_fine_and_not_run(check, tmp_path, cmd):
    (tmp_path / "tool").write_text("")
    (tmp_path / "tool").chmod(0o700)
    (tmp_path / "pack").mkdir()
    for name in ("__init__", "__main__", "inner"):
        (tmp_path / "pack" / f"{name}.py").write_text("raise SystemExit('it is not run')")
    assert check(cmd) == ""


@pytest.mark.parametrize(
    ("cmd", "why"),
    [
        ("[python, hree.py]", "there is no file hree.py in {folder} (did you mean 'here.py'?)"),
        ("[python, -m, hre]", "there is no module hre (did you mean 'here'?); it must be installed or in {folder}"),
        ("[python, -m, tickmind.characters.bery_eater]", "there is no module tickmind.characters.bery_eater (did you"),
        ("[python, -m, here.inner]", "there is no module here.inner"),
        ("[python, -m, empty]", "the package empty can't be run, since it has no __main__.py"),
        ("[python, -m, ../here]", "../here is no valid module name"),
        ("[python]", "it names nothing to run; write [python, FILE.py]"),
        ("[python, -m]", "it names nothing to run"),
        ("[/usr/bin/python9.9, here.py]", "there is no program /usr/bin/python9.9"),
        ("[no-such-program]", "there is no program 'no-such-program' on the PATH; install it"),
        ("[here.py]", "there is no program 'here.py' on the PATH; write ./here.py"),
        ("[./here.py]", "{folder}/here.py is no program that can be run; run: chmod +x"),
    ],
)
def test_a_command_that_is_not_there_is_told_with_its_line(check, tmp_path, cmd, why):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "__init__.py").write_text("")
    told = check(cmd)
    assert f"agents.yaml:2:{12}: agents.a.cmd: {why.format(folder=tmp_path)}" in told
    assert len(told.splitlines()) == 1


def test_modules_are_looked_for_where_the_agent_will_look(check, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "far.py").write_text("")
    assert "there is no module far" in check("[python, -m, far]")
    assert check("[python, -m, far]", more=", env: {PYTHONPATH: lib}") == ""
    assert "there is no program 'sleep'" in check("[sleep, '1']", more=", env: {PATH: /nowhere}")


def test_secrets_must_be_there_if_somebody_needs_them(check, tmp_path):
    (tmp_path / "key").write_text("abc")
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "long").write_text("x" * 20_000)
    (tmp_path / "long").chmod(0o600)
    secrets = ", secrets: {A: {env: A_KEY}, B: {file: key}}"
    assert "agents.a.secrets.A: the environment variable A_KEY is not set" in check(more=secrets)
    assert check(more=secrets, env={**ENV, "A_KEY": "abc"}) == ""
    assert "agents.a.secrets.B: the key file" in check(more=", secrets: {B: {file: long}}")
    unused = "[{match: {}, use: b}]\n"
    told = check(more=secrets + "}\n  b: {cmd: [sleep, '1']", rules=unused)
    assert told == ""
    told = check(more=secrets + "}\n  b: {cmd: [sleep, '1'], fallback: a", rules=unused)
    assert "A_KEY is not set" in told
    assert "world_token: the environment variable A_KEY is not set" in check(
        rules="[{match: {}, use: a}]\nworld_token: {env: A_KEY}"
    )


@pytest.mark.parametrize("rules", ["[]", "[{match: {}, use: null}]"])
def test_somebody_must_get_an_agent(check, rules):
    assert "assignments: no character gets an agent" in check(rules=rules)


@pytest.mark.parametrize(
    ("match", "why"),
    [
        ("{id: bem}", "assignments[0].match.id: no character there is called bem (did you mean 'ben'?)"),
        ("{id: [anna, carl]}", "assignments[0].match.id: no character there is called carl"),
        ("{type: [wolf, bear]}", "assignments[0].match.type: no character there has the type bear"),
        ("{tags: [npc, tame]}", "assignments[0].match.tags: no character there has the tag tame"),
        ("{type: villager, tags: [wild]}", "assignments[0].match: no character there has all of this together"),
    ],
)
def test_each_assignment_must_fit_somebody_in_the_world(check, match, why):
    rules = f"[{{match: {match}, use: a}}, {{match: {{}}, use: a}}]"
    assert check(rules=rules) == ""
    told = check(rules=rules, entities=EVERYBODY)
    assert why in told
    assert len(told.splitlines()) == 1


def test_a_world_in_which_all_are_left_to_others_is_told(check):
    rules = "[{match: {}, use: null}, {match: {id: anna}, use: a}]"
    assert "no character of that world gets an agent" in check(rules=rules, entities=EVERYBODY)


def test_everybody_may_be_caught_by_earlier_assignments(check):
    rules = "[{match: {id: anna}, use: a}, {match: {id: ben}, use: null}, {match: {}, use: a}]"
    assert check(rules=rules, entities=EVERYBODY) == ""


def test_a_start_wants_only_what_somebody_needs_and_no_fallback_can_stand_in_for(check):
    lacking, there = "cmd: [python, hree.py]", "cmd: [python, here.py]"
    two = "[{match: {id: anna}, use: a}, {match: {}, use: b}]"
    told = check("[python, hree.py]", start=True, rules=two, more=f"}}\n  b: {{{there}")
    assert "agents.yaml:2:12: agents.a.cmd: there is no file hree.py" in told
    assert len(told.splitlines()) == 1
    both = check("[python, hree.py]", start=True, more=", fallback: b}\n  b: {cmd: [python, -m, hre]")
    assert "agents.a.cmd: there is no file" in both
    assert "agents.b.cmd: there is no module" in both
    assert check("[python, hree.py]", start=True, more=f", fallback: b}}\n  b: {{{there}") == ""
    assert check(start=True, more=f"}}\n  spare: {{{lacking}") == ""
    assert check("[python, hree.py]", start=True, rules="[]") == ""
    secret = check(start=True, more=", secrets: {A: {env: A_KEY}}")
    assert "agents.a.secrets.A: the environment variable A_KEY is not set" in secret
    token = check(start=True, rules="[{match: {}, use: a}]\nworld_token: {env: A_KEY}")
    assert "world_token: the environment variable A_KEY is not set" in token
