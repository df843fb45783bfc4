"""`POST /v1/embeddings`: texts to vectors, by the same queue, limits and accounts as calls."""

from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.surface.documents import model_of, parse_object, refuse
from tickmind.gateway.surface.openai import OpenAIForm
from tickmind.gateway.surface.prompt_tokens import prompt_tokens_of
from tickmind.gateway.surface_format import FormatRequest


class EmbeddingsForm(OpenAIForm):
    """As Chat Completions, but nothing is written, so a reply that counts its prompt is counted whole."""

    name = "embeddings"

    def reply(self, call: FormatRequest, target: Target, body: bytes) -> tuple[bytes, Outcome]:
        """Return the provider's bytes, with no tokens for a completion."""
        reply, outcome = super().reply(call, target, body)
        if outcome.result is Result.OK and outcome.prompt_tokens is not None:
            outcome = outcome._replace(completion_tokens=0)
        return reply, outcome


def read_embeddings(body: bytes) -> tuple[str, bool, int, int]:
    """Return a request's model, that it does not stream, and its estimated tokens; a model must be named."""
    document = parse_object(body)
    model = model_of(document)
    if not model:
        raise refuse("model must name the model of the embeddings; the default model is one for chats")
    given = document.get("input")
    if type(given) not in {str, list} or not given:
        raise refuse("input must be a text or a list of texts")
    if document.get("stream"):
        raise refuse("embeddings are not streamed; leave out stream")
    return model, False, prompt_tokens_of(body), 0
