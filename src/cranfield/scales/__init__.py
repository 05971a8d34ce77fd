"""What scores may mean: scales, images of measures, interval-scaled measures, statements."""
