"""The stages of the pipeline: one thin command per stage, run by `dvc repro` as `python -m stages NAME`."""
