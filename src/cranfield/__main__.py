"""`python -m cranfield` is the command `cranfield`."""

from cranfield.cli.main import main

if __name__ == "__main__":
    main()
