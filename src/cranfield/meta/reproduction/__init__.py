"""How well an experiment was reproduced or replicated."""
