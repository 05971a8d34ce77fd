"""Interfaces of other programs: their names, arguments and results, with the values from here."""
