"""`python -m cranfield` is the command `cranfield`."""

from cranfield.cli.main import entry

if __name__ == "__main__":
    entry()
