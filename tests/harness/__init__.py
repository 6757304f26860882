"""What the end-to-end and escape suites share: a real daemon, a client, a look at the host."""
