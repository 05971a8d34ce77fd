def cite():
    """Stub."""
