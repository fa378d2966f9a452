"""Servers and groups, and the endpoints of their agents."""
