"""Do the work of a study: tasks, processes, trained cells and evaluations on disk, and their records."""
