"""What the command line is made of: its commands, their words, and how results look in a terminal."""
