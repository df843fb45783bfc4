"""Ready characters, each a small file to read and to copy: `python -m tickmind.characters.berry_eater`.

    random_walker   goes about at random: the least that an agent can be
    berry_eater     one function: looks for berries, eats when hungry, says hello
    forager_bt      a behaviour tree in a file of its own, forager.xml
    villager        needs, memory, conversation, and plans from a model if there is one
    arena_player    quick: raids, runs, tags, by rules that players keep among themselves
    escapee         gets out of a locked room by reading out what it sees and doing what it hears
    prisoner        gets out of it with a mind: remembers, talks through the wall, chooses what helps
    tool_user       a model that acts through tools: look, go to, pick up, say, work, give, read and write on boards

Each reads the launch contract of `tickmind.agent`: `ENTITY_ID=entity:1 python -m tickmind.characters.villager`.
"""
