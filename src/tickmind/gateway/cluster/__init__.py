"""State that several gateways share through Redis or Valkey, so that limits, sessions and cooldowns hold for all.

What is sent there: names of providers and models, keyed hashes of API keys, names of sessions and callers, numbers and
times. Never a key, a prompt or a reply.
"""
