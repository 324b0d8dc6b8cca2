"""The file formats, one module each; `detect` has the table of them."""
