"""Options that commands share, and what they do with them."""
