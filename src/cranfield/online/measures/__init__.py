"""Online measures of pages, sessions and users."""
