"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
