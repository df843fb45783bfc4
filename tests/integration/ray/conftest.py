"""One Ray cluster for all tests of this folder: it takes ten seconds to start."""

import pytest
from tests.kits.ray_cluster import local_ray


@pytest.fixture(scope="session")
def ray_cluster():
    with local_ray() as cluster:
        yield cluster
