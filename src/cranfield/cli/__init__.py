"""The command line; the modules `GROUP_*.py` have the commands of a group."""
