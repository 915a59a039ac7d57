"""The page of `adhere audit`."""
