"""Kernels of our own for bfloat16 on CPUs: a whole sublayer a call, compiled at first use (C++; AVX512-BF16, AMX)."""
