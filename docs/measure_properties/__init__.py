"""Properties of measures for the catalogue, computed from a battery of small rankings."""
