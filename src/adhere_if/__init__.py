"""Adhere's instruction following as an environment that `verifiers` finds by name: `vf-eval adhere_if …`.

verifiers takes the name of a top-level module; what it is lies in `adhere.integrations.verifiers.environment`.
"""

from adhere.integrations.verifiers.environment import AdhereEnv, AdhereTaskset, load_environment

__all__ = ["AdhereEnv", "AdhereTaskset", "load_environment"]
