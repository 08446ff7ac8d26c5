"""`python -m traceql` is `traceql`."""

from traceql.cli import main

if __name__ == "__main__":
    main()
