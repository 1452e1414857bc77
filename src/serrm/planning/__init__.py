"""Forecast of the time that a profile takes, and its rehearsal with small models."""
