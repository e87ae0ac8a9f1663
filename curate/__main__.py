"""`python -m curate` is the command `curate`."""

from curate.cli import main

if __name__ == "__main__":
    main(prog_name="curate")
