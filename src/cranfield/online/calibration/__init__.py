"""Parameters of measures from logs: moves between ranks, times at them, persistence."""
