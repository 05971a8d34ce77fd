"""The command line: modules `GROUP_*.py` have the commands of a group, others those without."""
