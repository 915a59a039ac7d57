"""Training and storing one stage: its settings, rewards, guards and costs. Recipes and studies share it."""
