"""Every key of the configuration, with a change of it that must show."""
