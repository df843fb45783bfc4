"""Replies that several callers share: kept replies, and streams that more than one caller reads."""
