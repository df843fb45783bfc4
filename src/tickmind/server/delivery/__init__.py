"""What a world sends: observations, lifecycle events, reports and viewer events."""
