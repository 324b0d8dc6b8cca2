"""What metrics there are, what they are called and what they take."""
