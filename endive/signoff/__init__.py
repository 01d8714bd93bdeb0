"""Sign-off: everything that speaks for one version of Endive, bound into one record that can be checked again."""
