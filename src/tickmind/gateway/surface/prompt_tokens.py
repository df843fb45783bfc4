"""Estimates of a prompt's tokens: by its length, with images and audio counted separately."""

import re

from tickmind.llm.tokens import AUDIO_BYTES_PER_TOKEN, CHARS_PER_TOKEN, IMAGE_TOKENS, LOW_IMAGE_TOKENS

_IMAGE = re.compile(rb'"type"\s*:\s*"(?:image_url|input_image)"')
_LOW = re.compile(rb'"detail"\s*:\s*"low"')
_IMAGE_DATA = re.compile(rb'"data:image/[A-Za-z0-9.+-]{1,40};base64,[A-Za-z0-9+/=\\]*')  # a slash may be escaped
_AUDIO_DATA = re.compile(rb'"data"\s*:\s*"([A-Za-z0-9+/=\\]{64,})')


def prompt_tokens_of(body: bytes) -> int:
    """Estimate from the bytes of a request."""
    size = len(body)
    if body.find(b'"type"') < 0:  # there are no parts of other types than text
        return size // CHARS_PER_TOKEN
    tokens = 0
    if b"image" in body:
        size -= sum(match.end() - match.start() for match in _IMAGE_DATA.finditer(body))
        low = len(_LOW.findall(body))
        images = max(len(_IMAGE.findall(body)), low)
        tokens += low * LOW_IMAGE_TOKENS + (images - low) * IMAGE_TOKENS
    if b'"input_audio"' in body:
        for match in _AUDIO_DATA.finditer(body):
            length = match.end(1) - match.start(1)
            size -= length
            tokens += max(1, length * 3 // 4 // AUDIO_BYTES_PER_TOKEN)
    return size // CHARS_PER_TOKEN + tokens
