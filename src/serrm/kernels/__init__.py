"""Faster forms of the networks: native kernels on CPUs, torch.compile on GPUs."""
