"""Door to `adhere.integrations.openenv.server`, which files of OpenEnv name by this path."""

from typing import Any

from adhere.integrations.openenv import server


def __getattr__(name: str) -> Any:
    return getattr(server, name)


if __name__ == "__main__":
    server.main()
