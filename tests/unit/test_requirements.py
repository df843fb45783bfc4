"""The set-up of the environment: uv is told what pip is told."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def install():
    spec = importlib.util.spec_from_file_location("install", ROOT / "requirements" / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_uv_asks_the_same_places_as_pip(install):
    told = """:env:.default-timeout='180'
:env:.find-links='/some wheels /more'
global.cert='/etc/ca.crt'
global.extra-index-url='file:///one/simple\\n  file:///two/simple'
global.find-links='/others'
global.index-url='https://mirror.example/simple'
"""
    assert install.settings_for_uv(told) == {
        "SSL_CERT_FILE": "/etc/ca.crt",
        "UV_EXTRA_INDEX_URL": "file:///one/simple file:///two/simple",
        "UV_FIND_LINKS": "/some,wheels,/more",
        "UV_INDEX_URL": "https://mirror.example/simple",
    }


def test_of_settings_that_stand_twice_uv_gets_the_one_that_pip_takes(install):
    told = """global.index-url='https://all.example/simple'
download.index-url='https://not-for-this.example/simple'
install.index-url='https://install.example/simple'
global.no-index='0'
:env:.no-index='1'
"""
    assert install.settings_for_uv(told) == {"UV_INDEX_URL": "https://install.example/simple", "UV_NO_INDEX": "1"}


def test_where_uv_can_not_be_run_pip_does_it(install, monkeypatch):
    asked = []

    def run(command, **_how):
        asked.append(command)
        if command[0].endswith("/uv"):
            raise FileNotFoundError(command[0])
        return subprocess.CompletedProcess(command, 0, stdout="")

    monkeypatch.setattr(install.subprocess, "run", run)
    monkeypatch.setattr(install.sys, "argv", ["install.py", "-e", "."])
    assert install.main() == 0
    assert asked[-1] == [*install.INSTALL, "-e", "."]


def test_without_settings_of_pip_uv_goes_by_its_own(install):
    assert install.settings_for_uv("") == {}


@pytest.mark.parametrize("place", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_every_requirement_is_pinned_and_names_no_registry(place):
    lines = [line for line in place.read_text(encoding="utf-8").splitlines() if line and line.lstrip()[0] != "#"]
    assert lines
    assert all("==" in line and "//" not in line for line in lines)
