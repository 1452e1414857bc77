"""Faster forms of the networks: native kernels and torch.compile."""
