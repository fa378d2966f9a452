"""ArchiveBot's dashboard protocol, for viewers that were written for it. It has no sign-in."""
