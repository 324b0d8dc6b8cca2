"""The file formats, a module each. `detect` tells them apart."""
