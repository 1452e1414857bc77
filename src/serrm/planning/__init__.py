"""What a profile will take, before it starts: a forecast by counting, a rehearsal in miniature."""
