from tickmind.llm.structured import parse
