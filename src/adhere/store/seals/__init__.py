"""The hashes of what a Run holds, noted when it is finished, and what they say later."""
