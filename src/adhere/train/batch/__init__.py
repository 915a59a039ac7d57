"""Token rows, the prefix tree, rollouts, and the loops over pairs and labelled answers."""
