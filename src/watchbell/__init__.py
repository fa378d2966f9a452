"""Watchbell runs jobs on a fleet, watches, calls the right person and archives the web."""

__version__ = "0.1.0"
