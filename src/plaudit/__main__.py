"""`python -m plaudit`: the command line."""

from plaudit.cli import main

if __name__ == "__main__":
    main(prog_name="plaudit")
