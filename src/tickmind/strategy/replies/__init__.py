"""Replies on their way to the Blackboard: parsed on drafts, field by field."""
