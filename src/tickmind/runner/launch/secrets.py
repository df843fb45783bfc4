"""Where a runner finds the secrets of its agents and the token of its world."""

from tickmind.base import ConfigError, LimitExceededError, Secret
from tickmind.base.access.token_file import TokenFile
from tickmind.base.secret_sources import SecretSources, SourceError
from tickmind.runner.spec import SecretSource


def find_secret(sources: SecretSources, source: SecretSource) -> str:
    """Return the present value of a secret; raises `SourceError` if it is missing."""
    if source.file is not None:
        try:
            return sources.file(str(source.file))
        except LimitExceededError as error:
            raise SourceError(f"the key file {source.file} is no key: {error}") from None
    value = sources.variable(source.variable)
    if value is None:
        raise SourceError(f"the environment variable {source.variable} is not set; set it where the runner is started")
    return value


def find_world_token(sources: SecretSources, source: SecretSource) -> Secret | TokenFile:
    """Return the world's token, or its file, which may change; raises `SourceError` if it is missing."""
    if source.file is None:
        return Secret(find_secret(sources, source), lasting=True)
    try:
        return TokenFile(source.file)
    except ConfigError as error:
        raise SourceError(str(error)) from None
