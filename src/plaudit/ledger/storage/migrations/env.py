"""Runs migrations on the connection that `upgrade` hands over; Alembic imports this file by path."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
