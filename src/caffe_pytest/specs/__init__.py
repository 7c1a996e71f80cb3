"""Reading: from YAML text to the frozen model, with a line number for every problem."""
