#!/bin/sh
# Writes .env with random passwords for compose.yaml. An existing file is left unchanged.
set -eu
cd "$(dirname "$0")/.."
if [ -e .env ]; then
  echo ".env exists and was not changed."
  exit 0
fi
umask 077
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
cat > .env <<VARIABLES
POSTGRES_PASSWORD=$(password)
ASYNCGATE_OWNER_PASSWORD=$(password)
ASYNCGATE_SERVER_PASSWORD=$(password)
ASYNCGATE_PUBLIC_URL=http://127.0.0.1:8080
VARIABLES
echo "Wrote .env with random passwords."
