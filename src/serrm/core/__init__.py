"""What training, evaluation and the stages share: files, randomness, settings, devices, processes, the project."""
