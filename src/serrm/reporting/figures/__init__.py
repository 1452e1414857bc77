"""The report's figures: curves and bars (matplotlib), the architecture and equivariance (SVG written here)."""
