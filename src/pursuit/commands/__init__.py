"""The commands of ``pursuit``, a module each: its summary, its options, what it does.

A module has ``SUMMARY``, ``configure(parser)`` and ``run(args)``. The latter returns
nothing on success and raises ``OSError`` or ``CommandError`` for problems that the user
can fix. What is slow to import, it imports when it runs. Results go to the standard
output; all else that is said, to the standard error.
"""
