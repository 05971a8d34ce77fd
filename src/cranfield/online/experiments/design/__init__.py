"""Before an experiment: who is in which variant, and how many units it takes."""
