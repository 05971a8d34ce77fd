"""What people see: results that others computed, as text, tables and files."""

from cranfield.base.border import attach_public

__getattr__, __dir__, __all__ = attach_public(__name__, __file__)
