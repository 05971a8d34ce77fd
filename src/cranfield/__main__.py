"""`python -m cranfield` is the command `cranfield`."""

from cranfield.cli.entry import entry

if __name__ == "__main__":
    entry()
