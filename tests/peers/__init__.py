"""Every metric beside those who compute it too: `make peers`, and what of it the test suite can run."""
