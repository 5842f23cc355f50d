"""The tasks of the battery, one file each."""
