"""Forms: how the value of a measure depends on grades by rank, exactly."""
