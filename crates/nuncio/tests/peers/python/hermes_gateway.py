"""Runs the gateway of the Hermes that is installed beside this interpreter."""

import sys

from hermes_cli.main import main

sys.argv = ["hermes", "gateway", "run"]
main()
