"""The verbs: plan, validate, run, judge, report. Both front doors call these and nothing deeper."""
