"""Charts of judgments: where they come from, and how well they agree."""
