#!/bin/sh
# The PostgreSQL image runs this once, when its volume is empty.
set -eu
psql --username "$POSTGRES_USER" --dbname postgres --set ON_ERROR_STOP=1 \
  --set owner_password="$ASYNCGATE_OWNER_PASSWORD" --set server_password="$ASYNCGATE_SERVER_PASSWORD" \
  --file /roles.sql
