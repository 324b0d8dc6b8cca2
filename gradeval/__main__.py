"""python -m gradeval"""

from gradeval.cli import main

main()
