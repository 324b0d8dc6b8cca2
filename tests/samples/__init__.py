"""What makes sample_data, and the test that it still does."""
