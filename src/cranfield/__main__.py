"""Run the command `cranfield` as `python -m cranfield`."""

from cranfield.cli.entry import entry

if __name__ == "__main__":
    entry()
