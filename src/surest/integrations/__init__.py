"""Seams to other tools. Each module needs the package that it is for, and is imported by name: nothing else imports it."""
