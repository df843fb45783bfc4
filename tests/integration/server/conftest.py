"""Real worlds behind real gRPC servers on free ports."""

import pytest
from tests.kits.served_world import LOCKSTEP, came_true, serving, talking


@pytest.fixture
def until():
    return came_true


@pytest.fixture
def serve():
    return serving


@pytest.fixture
def talk():
    return talking


@pytest.fixture
def lockstep():
    return LOCKSTEP
