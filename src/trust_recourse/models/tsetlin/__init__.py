"""The machine: literals, training, exact inference, the estimators."""
