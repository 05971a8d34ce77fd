"""What can be measured, and what the measures are like: properties that are computed."""
