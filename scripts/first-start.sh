#!/usr/bin/env bash
# Starts the server as a newcomer does, waits until the demonstration has run, pastes every `curl`
# that was printed, presses Ctrl-C and expects a clean end.
#
# Uses a free port and a folder of its own, and leaves neither process nor file behind.
set -u -m
cd "$(dirname "$0")/.." || exit 1

folder=$(mktemp -d)
output="$folder/output"
server=
trap '[ -n "$server" ] && kill -KILL -- "-$server" 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 143' INT TERM HUP

fail() {
  printf '%s\n\n' "$1"
  cat "$output"
  exit 1
}

# Below the ports that the system gives away by itself: until the server has it, seconds go by.
port=$(node -e '
  const look = () => {
    const port = crypto.randomInt(10_000, 32_000)
    const server = net.createServer().once("error", look)
    server.listen(port, "127.0.0.1", () => server.close(() => console.log(port)))
  }
  look()
')
start=$SECONDS
# Ctrl-C reaches the whole group. With bash between npm and the server, the code that npm ends with
# is the server's own; other shells answer 130 in its place.
npm_config_script_shell=bash npm start -- --port "$port" --data "$folder/data" >"$output" 2>&1 &
server=$!

until grep -q 'Ctrl-C' "$output"; do
  kill -0 "$server" 2>/dev/null || fail "The server ended before it was ready."
  [ $((SECONDS - start)) -lt 150 ] || fail "The server was not ready after 150 seconds."
  sleep 0.2
done
grep -q 'Order digest: COMPLETED' "$output" || fail "The demonstration did not complete."
echo "The demonstration had run after $((SECONDS - start)) s."

pasted=0
while read -r line; do
  eval "${line/#curl /curl --fail-with-body --silent --show-error --max-time 30 }" \
    >"$folder/answer" 2>&1 || fail "This did not work: $line"$'\n'"$(cat "$folder/answer")"
  pasted=$((pasted + 1))
done < <(grep -E '^ *curl ' "$output")
[ "$pasted" -gt 0 ] || fail "No curl was printed."
echo "Each printed curl got an answer ($pasted)."

kill -INT -- "-$server"
wait "$server"
code=$?
[ "$code" -eq 0 ] || fail "Ctrl-C ended the server with code $code."
cat "$output"
echo "Ctrl-C ended the server cleanly."
