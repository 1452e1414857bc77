"""What a profile will take, told before it starts: forecast by counting, or rehearsed in miniature."""
