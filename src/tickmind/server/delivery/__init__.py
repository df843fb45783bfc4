"""What a world sends: observations, lifecycle events, reports and the view of viewers."""
