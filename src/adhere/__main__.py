"""`python -m adhere`."""

from adhere.cli import main

main()
