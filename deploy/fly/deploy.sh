#!/bin/sh
# Deploys to Fly: creates the app and its PostgreSQL the first time, then deploys this checkout.
# Usage: deploy/fly/deploy.sh APP [REGION]
set -eu
app=${1:?usage: deploy/fly/deploy.sh APP [REGION]}
region=${2:-fra}
cd "$(dirname "$0")/../.."

if ! fly status --app "$app" > /dev/null 2>&1; then
  fly apps create "$app"
  fly postgres create --name "$app-db" --region "$region" --vm-size shared-cpu-1x --volume-size 10 --initial-cluster-size 1
  # A superuser would bypass row-level security, and the server would refuse to start.
  fly postgres attach "$app-db" --app "$app" --variable-name ASYNCGATE_DATABASE_URL --superuser=false
  key=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
  fly secrets set --app "$app" --stage "ASYNCGATE_ADMIN_KEYS=admin=$key"
  echo "The admin key, which is shown only now: $key"
fi

fly deploy --app "$app" --primary-region "$region" --config deploy/fly/fly.toml \
  --env "ASYNCGATE_PUBLIC_URL=https://$app.fly.dev" --ha=false
