"""`make bench`: gradeval and its peers as whole processes, on the same files, with the same answers."""
