"""What users did, as numbers: of pages, sessions and users."""
