"""Native kernels for CPUs (C++; AVX2, AVX-512, AMX), compiled at first use; a call runs a whole sublayer."""
