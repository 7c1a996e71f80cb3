"""The design stage: from a triple and an intent to counterfactual prompt pairs."""
