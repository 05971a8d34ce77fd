"""Prediction-powered scores, from few labels by people and many labels of a judge."""
