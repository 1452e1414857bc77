"""`serrm rehearse`: a profile's whole grid in miniature, through the very stages, before days are spent on it."""
