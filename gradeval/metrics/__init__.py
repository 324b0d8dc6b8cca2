"""The metrics, a module a family, named after its best-known metric."""
