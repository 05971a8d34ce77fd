"""The command line: `group_*.py` has commands of a group, `*.py` those of the program."""
