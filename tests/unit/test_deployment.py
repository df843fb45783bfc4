"""The container file and the manifests name commands, options, ports, paths and files that exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import yaml

from tickmind.cli.app import app
from tickmind.gateway.settings.file import load_config
from tickmind.runner import load_mapping

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy" / "kubernetes"
CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text()
KUSTOMIZATION = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())
RESOURCES = [
    document for name in KUSTOMIZATION["resources"] for document in yaml.safe_load_all((MANIFESTS / name).read_text())
]
WORKLOADS = {one["metadata"]["name"]: one for one in RESOURCES if one["kind"] in {"Deployment", "StatefulSet"}}
SERVICES = {one["metadata"]["name"]: one for one in RESOURCES if one["kind"] == "Service"}
PARTS = ("world", "gateway", "runner", "viewer")
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
COMMANDS: Any = typer.main.get_command(app)
PORTS = {"world": 50051, "gateway": 8766, "viewer": 8700}  # where each listens unless it is told otherwise


def pod(part):
    return WORKLOADS[f"tickmind-{part}"]["spec"]["template"]["spec"]


def container(part):
    (one,) = pod(part)["containers"]
    return one


def commands(part):
    """What a container runs: once for each branch of the world's script."""
    given = container(part)
    if given.get("command") != ["sh", "-c"]:
        assert "command" not in given, "the image's own entry point is tickmind"
        return [given["args"]]
    (script,) = given["args"]
    running = script[script.index("exec tickmind") :].removeprefix("exec tickmind").split()
    branches = re.findall(r"set -- (.*?); (?:else|fi)", script)
    assert len(branches) == 2, script
    return [
        [part for word in running for part in (shlex.split(branch) if word == '"$@"' else [word])]
        for branch in branches
    ]


def parsed(words):
    """The parameters of a command, as its own parser reads them; fails for what it does not know."""
    name, command, rest = COMMANDS.resolve_command(click.Context(COMMANDS), list(words))
    return command.make_context(name, list(rest), resilient_parsing=False).params


def probe_commands():
    for part in PARTS:
        for probe in PROBES:
            if "exec" in container(part)[probe]:
                yield part, container(part)[probe]["exec"]["command"]


def mounts(part):
    return {mount["mountPath"]: mount["name"] for mount in container(part)["volumeMounts"]}


def test_there_is_a_workload_for_each_part():
    assert set(WORKLOADS) == {f"tickmind-{part}" for part in PARTS}
    images = {image["name"] for image in KUSTOMIZATION["images"]}
    assert {container(part)["image"] for part in PARTS} == images


@pytest.mark.parametrize("part", PARTS)
def test_commands_and_options_exist_and_listen_where_the_ports_are(part):
    for words in commands(part):
        given = parsed(words)
        assert words[0] == part
        if part in PORTS:
            (port,) = container(part)["ports"]
            assert given["port"] or PORTS[part] == port["containerPort"]
            assert given["host"] == "0.0.0.0"
            assert given["tls"] is not None, "other machines reach it"


@pytest.mark.parametrize("part", PARTS)
def test_probes_ask_what_the_part_serves(part):
    assert set(PROBES) <= container(part).keys()
    paths = {"gateway": {"/healthz"}, "viewer": {"/healthz", "/readyz"}}
    ports = {port["name"] for port in container(part).get("ports", ())}
    for probe in PROBES:
        asked = container(part)[probe].get("httpGet")
        if asked is not None:
            assert asked["path"] in paths[part]
            assert asked["scheme"] == "HTTPS"
            assert asked["port"] in ports
    for name, words in probe_commands():
        if name == part:
            assert words[:2] == ["tickmind", "health"]
            target = parsed(words[1:])["target"]
            expected = f"http://127.0.0.1:{parsed(commands(part)[0])['metrics_port']}/healthz"
            assert target == ("localhost:50051" if part == "world" else expected)


def test_the_viewer_accepts_the_host_of_its_probes():
    allowed = parsed(commands("viewer")[0])["allow_host"]
    for probe in PROBES:
        headers = container("viewer")[probe]["httpGet"]["httpHeaders"]
        assert [header["value"] for header in headers if header["name"] == "Host"] == allowed


@pytest.mark.parametrize("part", PARTS)
def test_paths_lie_on_volumes_and_every_volume_is_mounted(part):
    claims = {
        claim["metadata"]["name"] for claim in WORKLOADS[f"tickmind-{part}"]["spec"].get("volumeClaimTemplates", ())
    }
    volumes = {volume["name"] for volume in pod(part)["volumes"]} | claims
    assert set(mounts(part).values()) == volumes
    words = [word for each in commands(part) for word in each] + [
        word for name, each in probe_commands() if name == part for word in each
    ]
    for word in words:
        path = word.partition("=")[2] or word
        if path.startswith("/"):
            assert any(path.startswith(mount) for mount in mounts(part)), path


@pytest.mark.parametrize("part", PARTS)
def test_containers_have_no_rights_and_bounded_resources(part):
    one, security = container(part), container(part)["securityContext"]
    assert pod(part)["securityContext"]["runAsNonRoot"]
    assert pod(part)["automountServiceAccountToken"] is False
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert {"cpu", "memory"} == one["resources"]["limits"].keys() == one["resources"]["requests"].keys()
    assert not any("SECRET" in str(variable) or "KEY" in str(variable) for variable in one.get("env", ()))


def test_secrets_are_files_that_only_the_group_of_the_process_reads():
    for part in PARTS:
        for volume in pod(part)["volumes"]:
            if "secret" in volume and volume["secret"]["secretName"] != "tickmind-ca":
                assert volume["secret"]["defaultMode"] == 0o440, volume


def test_a_world_has_one_writer_and_a_lasting_volume():
    world = WORKLOADS["tickmind-world"]
    assert (world["kind"], world["spec"]["replicas"]) == ("StatefulSet", 1)
    assert world["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady"
    for words in commands("world"):
        runs = parsed(words)["runs"]
        assert str(runs).startswith("/data/")
    assert [parsed(words)["resume"] for words in commands("world")] == ["village", None]


def test_parts_find_each_other_by_their_services():
    mapping = load_mapping(MANIFESTS / "agents.yaml")
    viewer = parsed(commands("viewer")[0])
    for address in (mapping.world_addr, viewer["world"], mapping.gateway_url.removeprefix("https://")):
        name, _, port = address.partition(":")
        (served,) = SERVICES[name]["spec"]["ports"]
        assert served["port"] == int(port)
        part = SERVICES[name]["spec"]["selector"]["app.kubernetes.io/name"].removeprefix("tickmind-")
        assert served["targetPort"] in {each["name"] for each in container(part)["ports"]}
    generated = {one["name"]: one["files"] for one in KUSTOMIZATION["configMapGenerator"]}
    assert generated == {"tickmind-agents": ["agents.yaml"], "tickmind-gateway": ["gateway.yaml=gateway-settings.yaml"]}


def test_the_settings_of_the_manifests_are_settings(tmp_path):
    mapping = load_mapping(MANIFESTS / "agents.yaml")
    assert mapping.tls is not None
    assert str(mapping.tls.ca) in parsed(commands("viewer")[0])["world_ca"].as_posix()
    key = tmp_path / "groq"
    key.touch(0o600)
    key.write_text("a-key-of-groq")
    settings = tmp_path / "gateway.yaml"
    settings.write_text((MANIFESTS / "gateway-settings.yaml").read_text().replace("/etc/tickmind/keys/groq", str(key)))
    config = load_config(settings, host="0.0.0.0", port=8766)
    assert [caller.name for caller in config.callers] == ["village"]


def test_the_container_file_has_a_target_for_each_part_that_is_not_root():
    targets = re.findall(r"^FROM base AS (\w+)$", CONTAINERFILE, re.MULTILINE)
    assert tuple(targets) == PARTS
    stages = re.split(r"^FROM ", CONTAINERFILE, flags=re.MULTILINE)
    for stage in stages[-len(PARTS) - 1 :]:
        assert re.findall(r"^USER (\S+)$", stage, re.MULTILINE)[-1] == "10001:10001"
    assert "http://" not in CONTAINERFILE.replace("http://127.0.0.1", "")
    assert not re.search(r"\b(curl|wget|git clone|apt-get)\b", CONTAINERFILE)


def test_the_container_file_copies_what_exists_and_runs_commands_that_exist():
    for line in re.findall(r"^COPY (?!--from)(.+)$", CONTAINERFILE, re.MULTILINE):
        *sources, _target = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
    for words in re.findall(r"^(?:  )?CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE):
        command = yaml.safe_load(words)
        if command != ["--help"]:
            parsed(command[1:] if command[0] == "tickmind" else command)
