#!/usr/bin/env bash
# Makes the images that docker/ builds on from Debian's packages, under the names that docker/ gives them, where no
# registry of images can be reached. It needs root, debootstrap and a Docker engine, and replaces nothing that is there.
# PostgreSQL and HAProxy are Debian's versions, which are older than those that their names say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite=bookworm
node=node:24-bookworm-slim postgres=postgres:18 haproxy=haproxy:3.2-alpine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exists() { docker image inspect "$1" >/dev/null 2>&1; }

exists "debian-$suite" || {
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/root" >"$work/log" ||
    { tail -n 5 "$work/log"; exit 1; }
  rm -rf "$work/root/var/cache/apt/archives/"*.deb "$work/root/var/lib/apt/lists/"*
  tar -C "$work/root" -c . | docker import - "debian-$suite" >/dev/null
}

# The Node of this project and the npm of this machine.
exists $node || {
  mkdir "$work/node"
  cp node_modules/node/bin/node "$work/node/node"
  # Where the command is: the global folder of npm is that of the Node which runs it, and this project's has no npm.
  cp -rL "$(dirname "$(readlink -f "$(command -v npm)")")/.." "$work/node/npm"
  # A machine behind a proxy that reads along trusts more than Debian does.
  cp /etc/ssl/certs/ca-certificates.crt "$work/node/"
  cat >"$work/node/Dockerfile" <<FILE
FROM debian-$suite
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
CMD ["node"]
FILE
  docker build --quiet -t $node "$work/node"
}

# What the compose files use of the published image: its user, its database, its password and its folder.
exists $postgres || {
  mkdir "$work/postgres"
  cat >"$work/postgres/start" <<'FILE'
#!/bin/bash
set -euo pipefail
export PGDATA=/var/lib/postgresql/data
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chown -R postgres /var/lib/postgresql
  chmod 700 "$PGDATA"
  printf '%s\n' "$POSTGRES_PASSWORD" | install --owner postgres --mode 600 /dev/stdin /tmp/password
  # shellcheck disable=SC2086
  setpriv --reuid postgres --regid postgres --clear-groups initdb --username "$POSTGRES_USER" --auth-local trust \
    --auth-host scram-sha-256 --pwfile /tmp/password ${POSTGRES_INITDB_ARGS:-}
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "create database \"$POSTGRES_DB\"" |
    setpriv --reuid postgres --regid postgres --clear-groups postgres --single -j postgres
fi
exec setpriv --reuid postgres --regid postgres --clear-groups "$@" -c listen_addresses='*'
FILE
  chmod +x "$work/postgres/start"
  cat >"$work/postgres/Dockerfile" <<FILE
FROM debian-$suite
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/* && rm -rf /var/lib/postgresql/*
RUN ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/ 2>/dev/null || true
COPY start /usr/local/bin/start
ENTRYPOINT ["start"]
CMD ["postgres"]
FILE
  docker build --quiet -t $postgres "$work/postgres"
}

exists $haproxy || {
  mkdir "$work/haproxy"
  cat >"$work/haproxy/Dockerfile" <<FILE
FROM debian-$suite
RUN apt-get update && apt-get install -y --no-install-recommends haproxy && rm -rf /var/lib/apt/lists/*
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
FILE
  docker build --quiet -t $haproxy "$work/haproxy"
}
