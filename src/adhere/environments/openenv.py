"""Forwards to `adhere.integrations.openenv.server`; files of OpenEnv name this path."""

from typing import Any

from adhere.integrations.openenv import server


def __getattr__(name: str) -> Any:
    return getattr(server, name)


if __name__ == "__main__":
    server.main()
