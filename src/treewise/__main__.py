"""Let ``python -m treewise`` be the command line."""

from treewise.cli import main

if __name__ == "__main__":
    main()
