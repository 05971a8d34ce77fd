"""Testing the scales: what interval-scaled measures change."""
