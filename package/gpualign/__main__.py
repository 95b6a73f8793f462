"""`python -m gpualign`, the same as the `gpualign` command."""

from gpualign.cli.start import main

if __name__ == "__main__":
    main()
