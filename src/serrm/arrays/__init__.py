"""Arrays on disk and what is read of them: tokens, the index of augmentations, the streams of examples."""
