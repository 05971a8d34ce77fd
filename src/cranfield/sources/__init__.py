"""Where bytes come from, and which line of a file each row is."""
