"""Each step from one version of the tables to the next, run by Alembic. A step is never changed once it was released."""
