"""The programs beside Python that some tests need: a browser, a server for shared state."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import pytest_asyncio


@pytest.fixture(scope="session")
def installed():
    """A program by the first of its names, installed if it is not there and can be; None otherwise."""

    def find(names, package):
        found = next((path for name in names if (path := shutil.which(name))), None)
        if found or os.geteuid() != 0 or not shutil.which("apt-get"):
            return found
        with (Path(tempfile.gettempdir()) / f"tickmind-install-{package}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # test workers come all at once
            if not shutil.which(names[0]):
                command = ["apt-get", "install", "-y", "--no-install-recommends", package]
                subprocess.run(command, capture_output=True, check=False, timeout=600)
        return shutil.which(names[0])

    return find


@pytest.fixture(scope="session")
def chromium(installed):
    """Where the browser is, or a skip where there is none and none can be installed."""
    program = installed(("chromium", "chromium-browser", "google-chrome"), "chromium")
    if program is None:
        pytest.skip("no chromium, and it can't be installed here; on Debian: apt-get install chromium")
    return program


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser_program(chromium):
    """One browser for all tests, because its start takes longer than most of them; for tests in the session's loop."""
    from playwright.async_api import async_playwright, expect
    from tests.integration.browser import FLAGS, WAIT_MS

    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=WAIT_MS)
        yield browser
        await browser.close()
