"""The Hugging Face hub's results of models: write only."""
