"""The model card: what the model is for, why it can be believed, how far, and where it is known to be wrong."""
