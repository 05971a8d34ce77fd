"""Judges that are language models, beside people."""
