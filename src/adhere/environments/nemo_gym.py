"""Forwards to `adhere.integrations.nemo_gym.server`; files of NeMo Gym name this path."""

from typing import Any

from adhere.integrations.nemo_gym import server


def __getattr__(name: str) -> Any:
    return getattr(server, name)


if __name__ == "__main__":
    server.main()
