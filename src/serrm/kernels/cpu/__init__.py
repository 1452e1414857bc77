"""Kernels of our own for CPUs: each call runs a whole sublayer; compiled at first use (C++; AVX2, AVX-512, AMX)."""
