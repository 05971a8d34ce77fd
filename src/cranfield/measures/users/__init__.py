"""User models: measures of users who read, click, continue and stop."""
