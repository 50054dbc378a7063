#!/usr/bin/env bash
# Does what docker/Dockerfile says without a container engine: every COPY and RUN in a clean folder per stage,
# then starts the result, waits for its health check and stops it. The project's own Node stands for the
# base image's. What it cannot show: the base image's libraries, and the change of user.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
server=''
cleanup() {
  if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT

mkdir "$work/bin" "$work/context"
ln -s "$root/node_modules/node/bin/node" "$work/bin/node"
export PATH="$work/bin:$PATH"
json() { node -p "JSON.parse(process.argv[1]).map((word) => word + '\0').join('')" "$1" | head -c -1; }

# The build context: .dockerignore shuts everything out and lets names back in.
while read -r line; do
  name=${line#!}
  if [ "$line" != "$name" ] && [ -e "$root/$name" ]; then
    mkdir -p "$(dirname "$work/context/$name")"
    cp -a "$root/$name" "$work/context/$name"
  fi
done <"$root/.dockerignore"

stage='' folder='' count=0 health='' entry=''
environment=()

copy() {
  local from="$work/context" words=()
  for word in "$@"; do
    case $word in
      --from=*) from="$work/stage-${word#--from=}" ;;
      --*) ;;
      *) words+=("$word") ;;
    esac
  done
  local target=${words[-1]} sources=("${words[@]:0:${#words[@]}-1}")
  case $target in /*) target="$stage$target" ;; *) target="$stage$folder/$target" ;; esac
  for source in "${sources[@]}"; do
    if [ -d "$from/$source" ]; then
      mkdir -p "$target" && cp -a "$from/$source/." "$target/"
    else
      mkdir -p "$(dirname "$target/x")" && cp -a "$from/$source" "$target/"
    fi
  done
}

while read -r instruction rest; do
  case $instruction in
    FROM)
      count=$((count + 1))
      case $rest in *' AS '*) stage="$work/stage-${rest##* AS }" ;; *) stage="$work/stage-$count" ;; esac
      mkdir "$stage" && folder=/ environment=()
      ;;
    WORKDIR) folder=$rest && mkdir -p "$stage$folder" ;;
    ENV) environment+=("$rest") ;;
    COPY) read -ra words <<<"$rest" && copy "${words[@]}" ;;
    RUN)
      echo "RUN $rest"
      (cd "$stage$folder" && env "${environment[@]}" sh -ec "$rest") </dev/null
      ;;
    HEALTHCHECK) health=${rest#*CMD } ;;
    ENTRYPOINT) entry=$rest ;;
  esac
done < <(grep -v '^#' "$root/docker/Dockerfile" | sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join' -e '}' | grep .)

cd "$stage$folder"
du -sh . | sed 's/\s.*/ in the last stage/'
mapfile -d '' -t command < <(json "$entry")
mapfile -d '' -t check < <(json "$health")
port=$(node -e "const s = require('node:net').createServer().listen(0, () => { console.log(s.address().port); s.close() })")
environment+=("HEDDLE_HOST=127.0.0.1" "HEDDLE_DATA=$stage/data" "HEDDLE_PORT=$port" "HEDDLE_USERS=check:a-key-for-this-check-only")
env "${environment[@]}" "${command[@]}" >"$work/log" 2>&1 </dev/null &
server=$!

healthy=no
for _ in $(seq 120); do
  if HEDDLE_PORT=$port "${check[@]}"; then healthy=yes && break; fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.5
done
[ $healthy = yes ] || { cat "$work/log"; echo 'The health check did not pass.'; exit 1; }
# The model of the image is not part of its health: it comes beside.
if compgen -G 'models/builtin/*.gguf' >/dev/null; then
  ready=no
  for _ in $(seq 120); do
    if node -e "fetch('http://127.0.0.1:$port/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"; then
      ready=yes && break
    fi
    sleep 0.5
  done
  [ $ready = yes ] || { cat "$work/log"; echo 'The built-in model does not answer.'; exit 1; }
fi
kill -TERM "$server"
code=0
wait "$server" || code=$?
server=''
[ $code -eq 0 ] || { cat "$work/log"; echo "SIGTERM ended in exit code $code."; exit 1; }
echo 'The image steps hold: built, healthy, stopped with exit code 0.'
