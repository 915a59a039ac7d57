"""verifiers and prime-rl: `environment` with a Taskset and `load_environment`, `reward` for its rubrics."""
