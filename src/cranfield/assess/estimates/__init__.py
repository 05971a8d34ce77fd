"""Prediction-powered scores, from few human labels and many labels of a judge."""
