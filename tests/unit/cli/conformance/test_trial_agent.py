"""What the report quotes of the output of an agent that ended."""

from tickmind.cli.conformance.trial_agent import telling_line

NODE = """\
node:internal/modules/esm/resolve:283
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'dist/index.js'
    at finalizeResolution (node:internal/modules/esm/resolve:283:11) {
  code: 'ERR_MODULE_NOT_FOUND',
}

Node.js v20.20.2
"""


def test_an_error_is_quoted_rather_than_what_follows_it():
    assert telling_line(NODE) == "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'dist/index.js'"
    assert telling_line("Traceback\n  at x\nkeys.LostError: gone\n\n") == "keys.LostError: gone"


def test_without_an_error_the_last_line_is_quoted():
    assert telling_line("starting\nno such module\n\n") == "no such module"
    assert telling_line("") == ""
