"""Note the hashes of what a Run holds when it is finished, and check them later."""
