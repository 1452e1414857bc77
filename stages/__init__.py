"""The stages of the pipeline: one thin command each, run by `dvc repro` as `python -m stages NAME`."""
