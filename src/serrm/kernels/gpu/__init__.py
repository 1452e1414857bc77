"""Forms for a GPU: packed attention of short sequences, and sublayers as Triton kernels."""
