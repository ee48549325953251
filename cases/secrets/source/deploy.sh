#!/usr/bin/env bash
# Deploys with tokens and passwords that come from somewhere else.
set -euo pipefail

: "${APP_TOKEN:?set APP_TOKEN}"
: "${DB_PASSWORD:?set DB_PASSWORD}"

TOKEN="${APP_TOKEN}"
PASSWORD=$DB_PASSWORD
SECRET="$(cat /run/secrets/app)"
API_KEY="${API_KEY:-}"
TOKEN_FILE=/run/secrets/token
PASSWORD_FILE="${PASSWORD_FILE:-$HOME/.config/app/password}"
SECRET_NAME=app-secret
ACCESS_TOKEN=$(gcloud auth print-access-token)
GITHUB_TOKEN="${GITHUB_TOKEN-}"
export PGPASSWORD="$PASSWORD"
export TOKEN

usage() {
    cat <<'EOF'
usage: deploy [--token TOKEN] [--password PASSWORD] [--secret-file FILE]

  --token TOKEN      the token; $APP_TOKEN where it is left out
  --password         asks for the password
  --api-key KEY      the key of the service, such as <your key>
EOF
}

read_password() {
    local password
    read -rsp "Password: " password
    printf '%s' "$password"
}

login() {
    local token=$1 password=${2:-}
    curl --fail --silent \
        --header "Authorization: Bearer $token" \
        --header "X-Api-Key: ${API_KEY}" \
        --user "me:$password" \
        --cookie "session=$token" \
        "https://example.org/login?token=${token}"
}

while (($# > 0)); do
    case $1 in
        --token) TOKEN=$2; shift 2 ;;
        --token=*) TOKEN=${1#--token=}; shift ;;
        --password) PASSWORD=$(read_password); shift ;;
        --secret-file) SECRET=$(<"$2"); shift 2 ;;
        --help) usage; exit ;;
        *) usage >&2; exit 2 ;;
    esac
done

if [[ -z $TOKEN || $TOKEN == "token" ]]; then
    echo "no token: pass --token TOKEN" >&2
    exit 1
fi

login "$TOKEN" "$PASSWORD"
psql "postgres://app:${PASSWORD}@localhost/app" -c "ALTER USER app PASSWORD '$PASSWORD'"
docker login --username app --password-stdin registry.example.org <<<"$PASSWORD"
kubectl create secret generic "$SECRET_NAME" \
    --from-literal=token="$TOKEN" \
    --from-literal=password="$PASSWORD" \
    --from-file=secret="$TOKEN_FILE"
echo "token=$TOKEN" >>"$GITHUB_OUTPUT"
unset PASSWORD SECRET PGPASSWORD
