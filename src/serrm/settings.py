"""A closed group of parameters: what every section of params.yaml is made of, whichever room it configures."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A frozen group of parameters that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
