"""The settings: defaults, one TOML file, WATCHBELL_* variables, options; the later win."""

from watchbell.settings.inheritance import for_children, secret_variables
from watchbell.settings.loading import PREFIX, Loaded, as_shown, environment, load, usual_file
from watchbell.settings.sections import (
    Agent,
    Alerting,
    Archive,
    ArchiveUpload,
    Cron,
    Delivery,
    Files,
    Jobs,
    Log,
    Oobetet,
    Port,
    Settings,
    Store,
    Web,
)
from watchbell.settings.values import Secret, Tables, decode, redacted, shown

__all__ = [
    "PREFIX",
    "Agent",
    "Alerting",
    "Archive",
    "ArchiveUpload",
    "Cron",
    "Delivery",
    "Files",
    "Jobs",
    "Loaded",
    "Log",
    "Oobetet",
    "Port",
    "Secret",
    "Settings",
    "Store",
    "Tables",
    "Web",
    "as_shown",
    "decode",
    "environment",
    "for_children",
    "load",
    "redacted",
    "secret_variables",
    "shown",
    "usual_file",
]
