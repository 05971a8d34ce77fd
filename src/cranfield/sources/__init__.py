"""Read files, data frames and mappings as tables, with the line of each row."""
