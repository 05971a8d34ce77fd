"""Effect sizes: of pairs of systems, and of the factors of an analysis of variance."""
