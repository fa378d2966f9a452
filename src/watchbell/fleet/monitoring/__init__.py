"""Monitors and alerts of servers: what a minute sample says, kept as series and as alerts."""
