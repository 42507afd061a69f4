#!/bin/sh
# The smallest agent: the message comes on standard input, what is printed is the answer.
tr '[:lower:]' '[:upper:]'
