"""What a profile will take, told from its settings before anything runs: operations, memory, disk and time."""
