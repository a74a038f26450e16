#!/bin/sh
# Forwards a log's new rows to a receiver by curl, each once:  sh forward.sh DATABASE URL
#
# The steps that tidemark_net takes for a target of http, by hand: claim (committed before a byte leaves), ship that
# range and no other, ack. A crash, or an answer that is lost, leaves the batch open; the next run sends the same rows
# under the same Idempotency-Key, by which the receiver knows them. Claim and ack are statements of their own, outside
# any transaction. Two at once do no harm: both send the same key, and one is refused its ack, says so and ends with
# status 1.
#
#   TIDEMARK   the extension (tidemark, on the library path)
#   MAX_ROWS   rows of a batch (5000)
#   TOKEN      sent as a bearer token when set; it is on no command line
set -eu

if [ $# -ne 2 ]; then
  echo "usage: sh forward.sh DATABASE URL" >&2
  exit 2
fi
database=$1
url=$2
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

sql() {
  sqlite3 -init /dev/null -batch -bail -list -noheader -cmd ".load '${TIDEMARK:-tidemark}'" -cmd '.timeout 10000' \
    "$database" "$1"
}

authorization() {
  [ -z "${TOKEN-}" ] || printf 'header = "Authorization: Bearer %s"\n' "$TOKEN"
}

sql "INSERT INTO tidemark_sink(sink, dataset, max_rows) SELECT 'by-hand', 'logs', $((${MAX_ROWS:-5000}))
  WHERE NOT EXISTS (SELECT 1 FROM tidemark_sink WHERE sink = 'by-hand' AND dataset = 'logs')"

# One batch. Its rows are read in one statement: all of them, or none when another run has taken it over meanwhile, and
# an empty request under its key would stand for them.
forward() {
  key=$(sql "SELECT key FROM tidemark_batch WHERE batch = $1")
  sql "SELECT json_object('since', l.since, 'source', source, 'ts', ts, 'level', level, 'component', component,
      'body', body, 'attrs', iif(json_valid(attrs), json(attrs), attrs))
    FROM tidemark_batch b CROSS JOIN logs l ON l.partition = b.partition AND l.since > b.since AND l.since <= b.until
    WHERE b.batch = $1 ORDER BY l.since" >"$rows"
  if [ -z "$key" ] || [ ! -s "$rows" ]; then
    echo "batch $1 was taken over by another run" >&2
    exit 1
  fi
  status=$(authorization | curl --disable --config - --globoff --silent --show-error --fail --max-time 60 \
    --output /dev/null --write-out '%{http_code}' --header "Idempotency-Key: \"$key\"" \
    --header 'Content-Type: application/x-ndjson' --data-binary "@$rows" --url "$url")
  # A redirect is no success, and 207 says that lines were refused.
  case $status in
  207 | [!2]*)
    echo "batch $1: the receiver answered $status, which is not that it has all of it" >&2
    exit 1
    ;;
  esac
  sql "SELECT tidemark_ack($1, '', $(wc -c <"$rows"))" >/dev/null
}

open=$(sql "SELECT tidemark_claim('by-hand', 'logs')")
while [ "$open" -gt 0 ]; do
  batches=$(sql "SELECT batch FROM tidemark_batch WHERE sink = 'by-hand' AND dataset = 'logs' ORDER BY batch")
  for batch in $batches; do
    forward "$batch"
  done
  open=$(sql "SELECT tidemark_claim('by-hand', 'logs')")
done
