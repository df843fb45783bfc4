"""Replies of many kinds, with what they mean; None where there is no answer in them."""

import re
from typing import Any

import pytest

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import parse_fields

DECIDE: dict[str, Any] = {
    "action": ["move_to", "talk_to", "gather", "trade", "rest", "flee"],
    "target": "str",
    "say": "str",
    "confidence": "num",
}
NARRATE: dict[str, Any] = {"narration": "str", "responding_characters": "list", "mood": ["tense", "calm", "urgent"]}
STATE: dict[str, Any] = {"chapter_complete": "bool", "reason": "str", "new_beats": "list"}
TOOL: dict[str, Any] = {"tool": "str", "arguments": "dict"}
PLAN: dict[str, Any] = {"goal": "str", "steps": "list"}
TRADE: dict[str, Any] = {"accept": "bool", "counter_offer": "any", "say": "str"}

FLEE = {"action": "flee", "target": "mill", "say": "Run!", "confidence": 0.9}
REST = '{"action":"rest","target":"a","say":"b","confidence":1}'
J = '{"action":"flee","target":"mill","say":"Run!","confidence":0.9}'
Y = "action: flee\ntarget: mill\nsay: Run!\nconfidence: 0.9"

MEANT: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    # JSON, wrapped in this and that
    ("think_then_json", DECIDE, f"<think>A wolf. {{maybe}} I run.</think>\n{J}", FLEE),
    ("thinking_tag", DECIDE, f"<thinking>\nRun or rest?\n</thinking>\n\n```json\n{J}\n```", FLEE),
    ("think_with_draft", DECIDE, f'<think>{{"action":"rest","target":"x","say":"y","confidence":1}}</think>{J}', FLEE),
    ("two_think_blocks", DECIDE, f"<think>a</think>ok<think>b</think>{J}", FLEE),
    ("unclosed_think_then_answer", DECIDE, f"<think>\nThe wolf is close.\n\n{J}", FLEE),
    ("prose_with_braces_after", DECIDE, f"{J}\nThe set {{wolf, mill}} made me choose this.", FLEE),
    ("prose_with_braces_before", DECIDE, f"Given {{state}} and {{mood}}, I answer: {J}", FLEE),
    ("special_tokens", DECIDE, f"{J}<|im_end|>", FLEE),
    ("answer_tag", DECIDE, f"<answer>{J}</answer>", FLEE),
    (
        "tool_call_tag",
        TOOL,
        '<tool_call>{"tool":"look","arguments":{"d":"n"}}</tool_call>',
        {"tool": "look", "arguments": {"d": "n"}},
    ),
    ("bom", DECIDE, "\ufeff" + J, FLEE),
    ("crlf", DECIDE, J.replace(",", ",\r\n"), FLEE),
    ("tilde_fence", DECIDE, f"~~~json\n{J}\n~~~", FLEE),
    ("fence_on_one_line", DECIDE, f"```json {J}```", FLEE),
    ("fence_ends_on_the_last_line", DECIDE, f"```json\n{J}```", FLEE),
    ("fence_without_language", DECIDE, f"Here:\n```\n{J}\n```", FLEE),
    ("fence_of_another_language", DECIDE, f"```javascript\nconst answer = {J};\n```", FLEE),
    (
        "python_fence",
        DECIDE,
        "```python\nresult = {'action': 'flee', 'target': 'mill', 'say': 'Run!', 'confidence': 0.9}\n```",
        FLEE,
    ),
    ("indented_fence", DECIDE, "1. My answer:\n   ```json\n   " + J + "\n   ```", FLEE),
    ("quoted_fence", DECIDE, f"> {J}", FLEE),
    ("list_of_one", DECIDE, f"[{J}]", FLEE),
    ("list_last_wins", DECIDE, f'[{{"action":"rest","target":"a","say":"b","confidence":1}}, {J}]', FLEE),
    ("wrapped", DECIDE, f'{{"response": {J}}}', FLEE),
    ("wrapped_twice", DECIDE, f'{{"output": {{"decision": {J}}}}}', FLEE),
    (
        "wrapped_as_text",
        DECIDE,
        '{"content": "{\\"action\\":\\"flee\\",\\"target\\":\\"mill\\",\\"say\\":\\"Run!\\",\\"confidence\\":0.9}"}',
        FLEE,
    ),
    ("wrapped_as_call", DECIDE, f'{{"name": "decide", "arguments": {J}}}', FLEE),
    ("wrapped_beside_thoughts", DECIDE, f'{{"thoughts": "a wolf", "decision": {J}}}', FLEE),
    ("double_braces", DECIDE, "{" + J + "}", FLEE),
    (
        "single_entries",
        TRADE,
        '[{"accept": false}, {"counter_offer": null}, {"say": "No."}]',
        {"accept": False, "counter_offer": None, "say": "No."},
    ),
    (
        "example_then_answer",
        DECIDE,
        f"For example:\n```json\n{REST}\n```\nAnswer:\n```json\n{J}\n```",
        FLEE,
    ),
    (
        "answer_then_example",
        DECIDE,
        f'{J}\nAnother example would be {{"action":"rest","target":"a","say":"b","confidence":1}}',
        FLEE,
    ),
    ("better_fit_wins", DECIDE, f'{J}\n\nMetadata: {{"confidence": 0.2, "model": "x"}}', FLEE),
    (
        "second_thoughts",
        DECIDE,
        f'{{"action":"rest","target":"a","say":"b","confidence":1}}\nNo, wait. Better:\n{J}',
        FLEE,
    ),
    # JSON, broken
    ("bare_keys", DECIDE, "{action: 'flee', target: 'mill', say: 'Run!', confidence: .9}", FLEE),
    ("bare_values", DECIDE, "{action: flee, target: mill, say: Run!, confidence: 0.9}", FLEE),
    (
        "curly_quotes",
        DECIDE,
        re.sub('"([^"]*)"', "\u201c\\1\u201d", J),
        FLEE,
    ),
    ("backticks", DECIDE, "{`action`: `flee`, `target`: `mill`, `say`: `Run!`, `confidence`: 0.9}", FLEE),
    ("equals", DECIDE, '{"action"="flee","target"="mill","say"="Run!","confidence"=0.9}', FLEE),
    ("arrows", DECIDE, '{"action" => "flee", "target" => "mill", "say" => "Run!", "confidence" => 0.9}', FLEE),
    ("semicolons", DECIDE, '{"action": "flee"; "target": "mill"; "say": "Run!"; "confidence": 0.9}', FLEE),
    ("missing_end_quote", DECIDE, '{\n"action": "flee,\n"target": "mill",\n"say": "Run!",\n"confidence": 0.9\n}', FLEE),
    ("missing_commas_on_one_line", DECIDE, '{"action": "flee" "target": "mill" "say": "Run!" "confidence": 0.9}', FLEE),
    ("double_commas", DECIDE, '{"action": "flee",, "target": "mill", "say": "Run!", "confidence": 0.9,,}', FLEE),
    (
        "unclosed_then_prose",
        DECIDE,
        '{"action": "flee", "target": "mill", "say": "Run!", "confidence": 0.9\n\nI hope this helps.',
        FLEE,
    ),
    (
        "inner_quote_then_comma",
        DECIDE,
        '{"action":"flee","target":"mill","say":"He cried "wolf", then ran","confidence":0.9}',
        {**FLEE, "say": 'He cried "wolf", then ran'},
    ),
    (
        "newline_in_text",
        DECIDE,
        '{"action":"flee","target":"mill","say":"Run!\nNow!","confidence":0.9}',
        {**FLEE, "say": "Run!\nNow!"},
    ),
    (
        "bad_escape",
        DECIDE,
        r'{"action":"flee","target":"mill","say":"It\'s a wolf","confidence":0.9}',
        {**FLEE, "say": "It's a wolf"},
    ),
    (
        "unicode_escape",
        DECIDE,
        r'{"action":"flee","target":"mill","say":"\ud83d\udc3a!","confidence":0.9,}',
        {**FLEE, "say": "\U0001f43a!"},
    ),
    ("triple_quotes", DECIDE, '{"action":"flee","target":"mill","say":"""Run!""","confidence":0.9}', FLEE),
    (
        "cut_in_key",
        DECIDE,
        '{"action":"flee","target":"mill","say":"Run!","conf',
        {k: v for k, v in FLEE.items() if k != "confidence"},
    ),
    (
        "cut_in_number",
        DECIDE,
        '{"action":"flee","target":"mill","say":"Run!","confidence":0.',
        {k: v for k, v in FLEE.items() if k != "confidence"},
    ),
    (
        "cut_in_choice",
        DECIDE,
        '{"target":"mill","say":"Run!","confidence":0.9,"action":"fl',
        {k: v for k, v in FLEE.items() if k != "action"},
    ),
    (
        "cut_in_boolean",
        STATE,
        '{"reason":"no clue","new_beats":["a"],"chapter_complete":fal',
        {"reason": "no clue", "new_beats": ["a"]},
    ),
    (
        "cut_in_list",
        STATE,
        '{"chapter_complete":true,"reason":"done","new_beats":["one","tw',
        {"chapter_complete": True, "reason": "done", "new_beats": ["one", "tw"]},
    ),
    (
        "cut_in_steps",
        PLAN,
        '{"goal":"eat","steps":[{"action":"go","ticks":2},{"action":"ea',
        {"goal": "eat", "steps": [{"action": "go", "ticks": 2}, {"action": "ea"}]},
    ),
    (
        "wrong_bracket",
        STATE,
        '{"chapter_complete": true, "new_beats": ["a", "b"}, "reason": "x"}',
        {"chapter_complete": True, "new_beats": ["a", "b"], "reason": "x"},
    ),
    ("duplicate_key", DECIDE, '{"action":"rest","action":"flee","target":"mill","say":"Run!","confidence":0.9}', FLEE),
    (
        "comment_with_url",
        DECIDE,
        '{"action":"flee", // see http://x\n"target":"mill","say":"Run! http://a.b/c","confidence":0.9}',
        {**FLEE, "say": "Run! http://a.b/c"},
    ),
    (
        "python_words",
        TRADE,
        "{'accept': False, 'counter_offer': None, 'say': 'No, thanks'}",
        {"accept": False, "counter_offer": None, "say": "No, thanks"},
    ),
    ("bold_keys_in_braces", DECIDE, '{**"action"**: "flee", "target": "mill", "say": "Run!", "confidence": 0.9}', FLEE),
    # names and values in other spelling
    ("title_case", DECIDE, '{"Action":"Flee","Target":"mill","Say":"Run!","Confidence":"0.9"}', FLEE),
    (
        "camel_case",
        NARRATE,
        '{"narration":"x","respondingCharacters":["Mira"],"mood":"Calm"}',
        {"narration": "x", "responding_characters": ["Mira"], "mood": "calm"},
    ),
    (
        "spaces",
        NARRATE,
        '{"narration":"x","Responding Characters":["Mira"],"mood":"CALM."}',
        {"narration": "x", "responding_characters": ["Mira"], "mood": "calm"},
    ),
    (
        "hyphens",
        STATE,
        "```yaml\nchapter-complete: no\nreason: none yet\nnew-beats: []\n```",
        {"chapter_complete": False, "reason": "none yet", "new_beats": []},
    ),
    ("typo", DECIDE, '{"acton":"flee","target":"mill","say":"Run!","confidance":0.9}', FLEE),
    (
        "choice_with_space",
        DECIDE,
        '{"action":"Move to","target":"mill","say":"Run!","confidence":0.9}',
        {**FLEE, "action": "move_to"},
    ),
    (
        "choice_as_call",
        DECIDE,
        '{"action":"move_to(mill)","target":"mill","say":"Run!","confidence":0.9}',
        {**FLEE, "action": "move_to"},
    ),
    (
        "choice_with_reason",
        DECIDE,
        "```yaml\naction: flee (the wolf is near)\ntarget: mill\nsay: Run!\nconfidence: 0.9\n```",
        FLEE,
    ),
    (
        "text_false",
        STATE,
        '{"chapter_complete":"false","reason":"x","new_beats":[]}',
        {"chapter_complete": False, "reason": "x", "new_beats": []},
    ),
    (
        "nothing_for_a_list",
        STATE,
        '{"chapter_complete":true,"reason":"x","new_beats":null}',
        {"chapter_complete": True, "reason": "x", "new_beats": []},
    ),
    (
        "arguments_as_text",
        TOOL,
        '{"tool":"look","arguments":"{\\"direction\\": \\"north\\"}"}',
        {"tool": "look", "arguments": {"direction": "north"}},
    ),
    ("numbered_steps", PLAN, '{"goal":"eat","steps":{"1":"go","2":"eat"}}', {"goal": "eat", "steps": ["go", "eat"]}),
    (
        "code_stays_text",
        DECIDE,
        "```yaml\naction: flee\ntarget: 007\nsay: no\nconfidence: 0.9\n```",
        {**FLEE, "target": "007", "say": "no"},
    ),
    (
        "time_stays_text",
        DECIDE,
        "```yaml\naction: flee\ntarget: 12:30\nsay: 2024-01-01\nconfidence: 0.9\n```",
        {**FLEE, "target": "12:30", "say": "2024-01-01"},
    ),
    # YAML, broken
    ("yaml_bare", DECIDE, Y, FLEE),
    ("yaml_after_prose", DECIDE, f"Here is what I do:\n\n{Y}\n\nLet me know if you need more.", FLEE),
    ("yaml_document_marks", DECIDE, f"---\n{Y}\n---\n", FLEE),
    ("yaml_after_think", DECIDE, f"<think>run: yes</think>\n```yml\n{Y}\n```", FLEE),
    (
        "yaml_under_key",
        DECIDE,
        "```yaml\ndecision:\n  action: flee\n  target: mill\n  say: Run!\n  confidence: 0.9\n```",
        FLEE,
    ),
    (
        "yaml_under_key_broken",
        DECIDE,
        "```yaml\ndecision:\n  action: flee\n  target: mill\n  say: 'Don't!'\n  confidence: 0.9\n```",
        {**FLEE, "say": "Don't!"},
    ),
    (
        "yaml_tab_indent",
        PLAN,
        "```yaml\ngoal: eat\nsteps:\n\t- go\n\t- eat\n```",
        {"goal": "eat", "steps": ["go", "eat"]},
    ),
    (
        "yaml_colon_in_value",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nsay: Listen: run!\nconfidence: 0.9\n```",
        {**FLEE, "say": "Listen: run!"},
    ),
    (
        "yaml_alias_is_text",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nsay: *runs away*\nconfidence: 0.9\n```",
        {**FLEE, "say": "runs away"},
    ),
    (
        "yaml_star_text",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nsay: *howls* Run!\nconfidence: 0.9\n```",
        {**FLEE, "say": "*howls* Run!"},
    ),
    (
        "yaml_at_sign",
        DECIDE,
        "```yaml\naction: flee\ntarget: @mill\nsay: Run!\nconfidence: 0.9\n```",
        {**FLEE, "target": "@mill"},
    ),
    (
        "yaml_inner_quotes",
        DECIDE,
        '```yaml\naction: flee\ntarget: mill\nsay: "He said "run" to me"\nconfidence: 0.9\n```',
        {**FLEE, "say": 'He said "run" to me'},
    ),
    (
        "yaml_folded",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nsay: >\n  Run\n  now!\nconfidence: 0.9\n```",
        {**FLEE, "say": "Run now!\n"},
    ),
    (
        "yaml_block_not_indented",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nconfidence: 0.9\nsay: |\nRun!\nNow!\n```",
        {**FLEE, "say": "Run!\nNow!\n"},
    ),
    (
        "yaml_comments",
        DECIDE,
        '```yaml\n# decision\naction: flee # go\ntarget: mill\nsay: "Run!" # shout\nconfidence: 0.9\n```',
        FLEE,
    ),
    (
        "yaml_trailing_commas",
        DECIDE,
        '```yaml\naction: "flee",\ntarget: "mill",\nsay: "Run!",\nconfidence: 0.9,\n```',
        FLEE,
    ),
    ("yaml_equals", DECIDE, '```\naction = flee\ntarget = "mill"\nsay = "Run!"\nconfidence = 0.9\n```', FLEE),
    ("yaml_bullets", DECIDE, "- action: flee\n- target: mill\n- say: Run!\n- confidence: 0.9", FLEE),
    (
        "yaml_list_of_objects",
        PLAN,
        "```yaml\ngoal: eat\nsteps:\n- action: go\n  ticks: 2\n- action: say 'hi' to 'Tam'\n  ticks: 1\n```",
        {"goal": "eat", "steps": [{"action": "go", "ticks": 2}, {"action": "say 'hi' to 'Tam'", "ticks": 1}]},
    ),
    (
        "yaml_broken_list",
        PLAN,
        "```yaml\ngoal: 'Tam's bread'\nsteps:\n  - 'go to Tam's'\n  - eat\n```",
        {"goal": "Tam's bread", "steps": ["go to Tam's", "eat"]},
    ),
    (
        "yaml_cut_in_list",
        PLAN,
        '```yaml\ngoal: eat\nsteps:\n  - action: go\n    ticks: 2\n  - action: "ea',
        {"goal": "eat", "steps": [{"action": "go", "ticks": 2}, {"action": "ea"}]},
    ),
    (
        "yaml_flow_arguments",
        TOOL,
        "```yaml\ntool: look\narguments: {direction: north}\n```",
        {"tool": "look", "arguments": {"direction": "north"}},
    ),
    (
        "yaml_multiline_quoted",
        DECIDE,
        '```yaml\naction: flee\ntarget: mill\nsay: "Run!\n  Now!"\nconfidence: 0.9\n```',
        {**FLEE, "say": "Run! Now!"},
    ),
    (
        "yaml_scalar_for_list",
        NARRATE,
        "```yaml\nnarration: x\nresponding_characters: Mira\nmood: calm\n```",
        {"narration": "x", "responding_characters": ["Mira"], "mood": "calm"},
    ),
    (
        "yaml_names_for_list",
        NARRATE,
        "```yaml\nnarration: x\nresponding_characters: Mira, Old Tam\nmood: calm\n```",
        {"narration": "x", "responding_characters": ["Mira", "Old Tam"], "mood": "calm"},
    ),
    (
        "yaml_tag_is_text",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nsay: !important run\nconfidence: 0.9\n```",
        {**FLEE, "say": "!important run"},
    ),
    (
        "fence_in_prose_twice",
        DECIDE,
        f"```yaml\naction: rest\ntarget: a\nsay: b\nconfidence: 1\n```\nOn reflection:\n```yaml\n{Y}\n```",
        FLEE,
    ),
    # labels in a text
    ("bold_labels", DECIDE, "**Action:** flee\n**Target:** mill\n**Say:** Run!\n**Confidence:** 0.9", FLEE),
    (
        "bold_labels_colon_outside",
        DECIDE,
        '**Action**: flee\n**Target**: mill\n**Say**: "Run!"\n**Confidence**: 0.9',
        FLEE,
    ),
    (
        "bold_bullets",
        DECIDE,
        'My decision:\n\n* **Action:** flee\n* **Target:** mill\n* **Say:** "Run!"\n* **Confidence:** 0.9\n\nBye!',
        FLEE,
    ),
    ("numbered_labels", DECIDE, "1. Action: flee\n2. Target: mill\n3. Say: Run!\n4. Confidence: 0.9", FLEE),
    ("headings", DECIDE, "## Action\nflee\n\n## Target\nmill\n\n## Say\nRun!\n\n## Confidence\n0.9\n", FLEE),
    (
        "table",
        DECIDE,
        "| field | value |\n|---|---|\n| action | flee |\n| target | mill |\n| say | Run! |\n| confidence | 0.9 |",
        FLEE,
    ),
    ("one_line", DECIDE, "action: flee, target: mill, say: Run!, confidence: 0.9", FLEE),
    (
        "xml_fields",
        DECIDE,
        "<action>flee</action>\n<target>mill</target>\n<say>Run!</say>\n<confidence>0.9</confidence>",
        FLEE,
    ),
    (
        "json_lines_without_braces",
        DECIDE,
        '"action": "flee",\n"target": "mill",\n"say": "Run!",\n"confidence": 0.9',
        FLEE,
    ),
    (
        "labels_with_list",
        PLAN,
        "Goal: bake bread\n\nSteps:\n1. Fetch flour\n2. Light the oven\n\nThat is all.",
        {"goal": "bake bread", "steps": ["Fetch flour", "Light the oven"]},
    ),
    ("single_choice", {"action": DECIDE["action"]}, "Flee.", {"action": "flee"}),
    ("single_label", {"mood": ["calm", "tense"]}, "Mood: Tense", {"mood": "tense"}),
    # more of the kinds that small models write
    ("list_for_a_text", DECIDE, "```yaml\naction: [flee]\ntarget: [mill]\nsay: Run!\nconfidence: 0.9\n```", FLEE),
    ("yaml_flow_root", DECIDE, "```yaml\n{action: flee, target: mill, say: Run!, confidence: 0.9}\n```", FLEE),
    ("number_with_remark", DECIDE, f"```yaml\n{Y} (quite sure)\n```", FLEE),
    ("plus_sign", {"trust": "num"}, "```yaml\ntrust: +2\n```", {"trust": 2}),
    (
        "pair_for_an_object",
        TOOL,
        "```yaml\ntool: look\narguments: direction: north\n```",
        {"tool": "look", "arguments": {"direction": "north"}},
    ),
    (
        "flow_pair_for_an_object",
        TOOL,
        "```yaml\ntool: look\narguments: [direction: north]\n```",
        {"tool": "look", "arguments": {"direction": "north"}},
    ),
    (
        "bullets_for_an_object",
        TOOL,
        "```yaml\ntool: look\narguments:\n  - direction: north\n  - far: true\n```",
        {"tool": "look", "arguments": {"direction": "north", "far": True}},
    ),
    (
        "numbers_under_a_key",
        PLAN,
        "```yaml\ngoal: eat\nsteps:\n  1. go to Tam\n  2. buy bread\n```",
        {"goal": "eat", "steps": ["go to Tam", "buy bread"]},
    ),
    ("numbers_in_a_text", PLAN, '{"goal": "eat", "steps": "1. go\\n2. buy"}', {"goal": "eat", "steps": ["go", "buy"]}),
    (
        "ellipsis_in_a_list",
        PLAN,
        '{"goal": "eat", "steps": ["go", "buy", ...]}',
        {"goal": "eat", "steps": ["go", "buy"]},
    ),
    ("quoted_pieces", PLAN, '```yaml\ngoal: eat\nsteps: "go", "buy"\n```', {"goal": "eat", "steps": ["go", "buy"]}),
    (
        "next_turn",
        DECIDE,
        f'{J}\n\nUser: What now?\nAssistant: {{"action":"rest","target":"a","say":"b","confidence":1}}',
        FLEE,
    ),
    ("chat_marks", DECIDE, f"<|im_start|>assistant\n{J}<|im_end|>\n<|im_start|>user\nthanks", FLEE),
    (
        "full_width",
        DECIDE,
        '{"action"\uff1a"flee"\uff0c"target"\uff1a"mill"\uff0c"say"\uff1a"Run!"\uff0c"confidence"\uff1a0.9}',
        FLEE,
    ),
    (
        "wide_table",
        DECIDE,
        "| action | target | say | confidence |\n|---|:--|---|---|\n| flee | mill | Run! | 0.9 |",
        FLEE,
    ),
    ("escaped", DECIDE, J.replace('"', '\\"'), FLEE),
    ("json_as_text", DECIDE, '"' + J.replace('"', '\\"') + '"', FLEE),
    ("html_entities", DECIDE, J.replace('"', "&quot;"), FLEE),
    ("word_before", DECIDE, f"yaml\n{Y}", FLEE),
    ("json_word_before", DECIDE, f"json\n{J}", FLEE),
    ("indented_yaml", DECIDE, "    " + Y.replace("\n", "\n    "), FLEE),
    ("ragged_yaml", DECIDE, "```yaml\naction: flee\n target: mill\n  say: Run!\nconfidence: 0.9\n```", FLEE),
    ("windows_lines", DECIDE, f"```yaml\r\n{Y}\r\n```".replace("\n", "\r\n"), FLEE),
    (
        "quoted_keys_in_yaml",
        DECIDE,
        '```yaml\n"action": flee\n"target": mill\n"say": Run!\n"confidence": 0.9\n```',
        FLEE,
    ),
    (
        "mixed_braces_in_yaml",
        DECIDE,
        "```yaml\naction: flee\ntarget: mill\nsay: {Run!}\nconfidence: 0.9\n```",
        {**FLEE, "say": "{Run!}"},
    ),
    (
        "narration_with_colons",
        NARRATE,
        "```yaml\nnarration: A voice: who goes there?\nresponding_characters:\n  - Mira\nmood: tense\n```",
        {"narration": "A voice: who goes there?", "responding_characters": ["Mira"], "mood": "tense"},
    ),
    (
        "narration_on_the_next_lines",
        NARRATE,
        "```yaml\nnarration:\n  The door opens.\n  It is dark.\nresponding_characters: []\nmood: tense\n```",
        {"narration": "The door opens. It is dark.", "responding_characters": [], "mood": "tense"},
    ),
    (
        "narration_wraps",
        NARRATE,
        "```yaml\nmood: tense\nresponding_characters: [Mira]\nnarration: The door: it opens.\nIt is dark.\n```",
        {"narration": "The door: it opens. It is dark.", "responding_characters": ["Mira"], "mood": "tense"},
    ),
    (
        "python_call",
        TOOL,
        "look: {}\n```json\n{'tool': 'look', 'arguments': {}}\n```",
        {"tool": "look", "arguments": {}},
    ),
    ("answer_after_a_question", DECIDE, f"Should I rest? What about {{}}? No:\n\n{J}\n\nDoes that help?", FLEE),
    # parts of an answer
    ("part_clean", DECIDE, '{"action": "rest"}', {"action": "rest"}),
    (
        "wrong_value_is_left_out",
        DECIDE,
        '{"action": "dance", "target": "mill", "confidence": "high"}',
        {"target": "mill"},
    ),
    (
        "nan_is_left_out",
        DECIDE,
        '{"action": "flee", "target": "mill", "confidence": NaN}',
        {"action": "flee", "target": "mill"},
    ),
    (
        "undeclared_fields_stay",
        DECIDE,
        '{"action": "flee", "mood": "grim", "level": 3}',
        {"action": "flee", "mood": "grim", "level": 3},
    ),
]

GARBAGE: list[tuple[str, dict[str, Any], str]] = [
    ("empty", DECIDE, ""),
    ("blank", DECIDE, " \n\t\n"),
    ("refusal", DECIDE, "I'm sorry, but I can't help with that."),
    ("refusal_with_colon", STATE, "I cannot continue. Reason: this is against my guidelines."),
    ("prose", DECIDE, "The wolf came closer and I thought about running to the mill, but I did not."),
    ("prose_with_colon", DECIDE, "Here is what I think: the wolf is near, so one should be careful."),
    ("prose_with_names", DECIDE, "My action depends on the target. I would say it with confidence."),
    ("prose_names_choice", DECIDE, "I could flee, rest or trade. Which do you prefer?"),
    ("question", NARRATE, "What mood: tense, calm or urgent? Please tell me."),
    ("dialogue", DECIDE, "Mira: Hello!\nTam: Good day.\nMira: Have you seen the bell?"),
    ("only_thinking", DECIDE, "<think>I should flee. action: flee, target: mill, say: Run!, confidence: 0.9</think>"),
    ("only_unclosed_thinking", DECIDE, "<think>\naction: flee\ntarget: mill\nI wonder about"),
    ("draft_in_closed_thinking", DECIDE, f"<think>{J}</think>\n"),
    ("python_code", DECIDE, "```python\ndef act(target):\n    action = choose(target)\n    return action\n```"),
    ("javascript_code", DECIDE, "```js\nfunction say(target) {\n  if (target) { return target.name; }\n}\n```"),
    ("rust_code", DECIDE, "struct Wolf { hp: u32, name: String }\nimpl Wolf { fn bite(&self) -> u32 { self.hp } }"),
    ("c_code", PLAN, 'int main() { printf("goal"); return 0; }'),
    ("css", DECIDE, "body { color: red; margin: 0; }"),
    ("html", DECIDE, "<html><body><p>flee</p></body></html>"),
    ("sql", DECIDE, "SELECT action, target FROM decisions WHERE confidence > 0.9;"),
    ("shell", DECIDE, "```bash\ncurl -X POST http://localhost/action\n```"),
    ("other_json", DECIDE, '{"name": "Mira", "hp": 12, "items": ["hammer"]}'),
    ("other_json_list", DECIDE, "[1, 2, 3]"),
    ("other_yaml", DECIDE, "```yaml\nname: Mira\nhp: 12\n```"),
    ("error_object", DECIDE, '{"error": {"code": 500, "message": "overloaded"}}'),
    (
        "schema_echo",
        DECIDE,
        '{"type": "object", "properties": {"action": {"type": "string"}, "target": {"type": "string"}}, "required": 0}',
    ),
    ("types_echo", DECIDE, '{"action": "string", "target": "string", "say": "string", "confidence": "number"}'),
    ("template_echo", DECIDE, '{"action": "...", "target": "<text>", "say": "<your words>", "confidence": "<number>"}'),
    ("empty_object", DECIDE, "{}"),
    ("empty_fence", DECIDE, "```json\n```"),
    ("open_brace", DECIDE, "{"),
    ("only_a_key", DECIDE, '{"action'),
    ("braces_only", DECIDE, "{{{{}}}}[[]]"),
    ("a_number", DECIDE, "42"),
    ("a_word", DECIDE, "flee"),
    ("a_quoted_text", NARRATE, '"You enter the tavern."'),
    ("a_bullet_list", PLAN, "- bread\n- milk\n- eggs"),
    ("a_story_title", STATE, "Title: The bell\n\nChapter 1: Night\n\nReason: nobody knows\n"),
    ("repetition", TRADE, "I say I say I say: " * 50),
    ("nulls", {"a": "str", "b": "num"}, '{"a": null, "b": null}'),
    ("nan_only", {"b": "num"}, '{"b": NaN}'),
    ("infinity_only", {"b": "num"}, '{"b": -Infinity}'),
    ("huge_number_only", {"b": "num"}, '{"b": 1e999}'),
    ("prose_for_number", {"b": "num"}, '{"b": "about 5 or so"}'),
    ("prose_for_boolean", {"b": "bool"}, '{"b": "perhaps"}'),
    ("two_choices", {"action": DECIDE["action"]}, '{"action": "flee or rest"}'),
    ("all_choices", {"action": DECIDE["action"]}, '{"action": "move_to | talk_to | gather"}'),
    ("similar_name_other_kind", {"target": "str", "aim": "str"}, '{"target_x": 5, "target_y": 6}'),
    ("url", DECIDE, "http://example.com/action:flee"),
    ("markdown_link", DECIDE, "[target](http://example.com)"),
    ("latex", PLAN, "\\begin{goal} x^{2} \\end{goal}"),
    ("python_dict_type", DECIDE, "action: str\ntarget: str\nsay: str\nconfidence: float"),
    ("typescript", DECIDE, "interface Reply { action: string; target: string; say: string; confidence: number }"),
    ("questions", DECIDE, "What is the action? What is the target? What should I say?"),
    ("score_sheet", DECIDE, "Strength: 5\nWisdom: 3\nCharisma: 9"),
    ("recipe", PLAN, "Ingredients:\n- flour\n- water\n\nMethod: mix and bake."),
    ("letter", TRADE, "Dear Oswin,\n\nthank you for your offer.\n\nYours,\nMira"),
    ("markdown_article", NARRATE, "# The tavern\n\n## History\n\nIt was built long ago.\n\n## People\n\n* Mira\n* Tam"),
    ("log_lines", DECIDE, "2024-01-01 12:00:00 INFO action started\n2024-01-01 12:00:01 INFO action done"),
]


@pytest.mark.parametrize(("fields", "text", "meant"), [case[1:] for case in MEANT], ids=[case[0] for case in MEANT])
def test_the_object_that_was_meant_is_found(fields: dict[str, Any], text: str, meant: dict[str, Any]) -> None:
    got = parse_fields(text, fields)
    assert {name: got.get(name) for name in meant} == meant
    assert {name: type(got.get(name)) for name in meant} == {name: type(value) for name, value in meant.items()}
    assert [name for name in fields if name in got and name not in meant] == []


@pytest.mark.parametrize(("fields", "text"), [case[1:] for case in GARBAGE], ids=[case[0] for case in GARBAGE])
def test_nothing_is_made_up_from_garbage(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(StructuredOutputError):
        parse_fields(text, fields)


def test_there_are_many_cases() -> None:
    assert len(MEANT) >= 100
    assert len(GARBAGE) >= 45
