"""The verbs: discover, plan, validate, run, judge, report. Both front doors are made of these."""
