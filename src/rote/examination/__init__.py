"""The battery: does an architecture compose, or does it learn by rote? Tasks, reference learners and the profile."""
