"""`python -m serrm.running`: all stages of params.yaml by DVC, several runs at a time."""
