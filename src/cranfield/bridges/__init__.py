"""Interfaces of other programs, with values computed by cranfield."""
