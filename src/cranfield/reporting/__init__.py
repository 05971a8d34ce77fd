"""What people see: results that others computed, as text, tables and files."""
