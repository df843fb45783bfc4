"""Replies: parsed on drafts of the Blackboard, then applied field by field."""
