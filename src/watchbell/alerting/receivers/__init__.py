"""Receivers: check results as other programs write them, made into check events."""
