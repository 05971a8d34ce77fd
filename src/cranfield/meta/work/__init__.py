"""Repeated work: parts that can be done anywhere, kept, and taken up again."""
