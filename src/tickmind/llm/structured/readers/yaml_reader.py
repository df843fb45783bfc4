"""Read YAML from the events of PyYAML's parser: no aliases, no tags, no dates, no `no` that turns into False.

The library wins on well-formed YAML (block and folded texts, flow collections); its constructors are what goes wrong
in safe_load: a 306-byte alias bomb, sexagesimal numbers, surprising booleans.
"""

from typing import Any

from tickmind.llm.structured.readers.limits import MAX_DEPTH
from tickmind.llm.structured.readers.scalars import Plain


class NotYamlError(ValueError):
    """The text is no YAML, or uses features that a reply must not use."""


def read_yaml(text: str) -> list[Any]:
    """Parse the documents of a YAML text; unquoted values come as `Plain`. Raises `NotYamlError`."""
    import yaml  # heavy; a clean JSON reply never needs it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event, yaml)
    except (yaml.YAMLError, RecursionError, UnicodeError, ValueError) as error:
        raise NotYamlError(str(error)) from error
    return builder.documents


class _Builder:
    """Build plain objects from events."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self._stack: list[tuple[Any, list[str]]] = []  # container, [key that waits for its value]

    def take(self, event: Any, yaml: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise NotYamlError("aliases are not read")
        if getattr(event, "anchor", None):
            raise NotYamlError("anchors are not read")
        if isinstance(event, yaml.ScalarEvent):
            if event.tag is not None:
                raise NotYamlError("tags are not read")
            self._add(event.value if event.style else Plain(event.value))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if event.tag is not None:
                raise NotYamlError("tags are not read")
            if not MAX_DEPTH.allows(len(self._stack) + 1):
                raise NotYamlError("nested too deeply")
            if self._stack and isinstance(self._stack[-1][0], dict) and not self._stack[-1][1]:
                raise NotYamlError("a key is not a simple word")
            self._stack.append(({} if isinstance(event, yaml.MappingStartEvent) else [], []))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._add(self._stack.pop()[0])

    def _add(self, value: Any) -> None:
        if not self._stack:
            self.documents.append(value)
            return
        container, waiting = self._stack[-1]
        if isinstance(container, list):
            container.append(value)
        elif waiting:
            container[waiting.pop()] = value
        else:
            waiting.append(str(value))
