"""Runs the command line as `python -m adhere`."""

from adhere.cli import main

main()
