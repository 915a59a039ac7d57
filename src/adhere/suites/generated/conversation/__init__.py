"""Families about conversations: turns, system prompts, ranks of instructions, instructions in quoted text."""
