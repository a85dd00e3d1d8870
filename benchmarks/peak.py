#!/usr/bin/env python3
"""Runs a command, silently, and prints its peak resident memory in MB: peak.py COMMAND...

A process of its own, since a child's peak includes what its parent held when it forked.
"""
import os
import sys

child = os.fork()
if child == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
if status != 0:
    sys.exit(f"{sys.argv[1:]} failed")
print(f"{usage.ru_maxrss / 1024:.1f}")
