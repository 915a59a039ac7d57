"""The judge as a reward function for trainers of other houses. There is no second verifier here, only another door."""

from adhere.rewards.judge import judge_reward

__all__ = ["judge_reward"]
