"""`python -m gpualign`, equivalent to the `gpualign` command."""

from gpualign.cli.entry_point import main

if __name__ == "__main__":
    main()
