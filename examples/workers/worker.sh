#!/usr/bin/env bash
# Evaluates tickets of a study by a program, which is given an arm (and an item) and prints a reward.
#   SUREST_TOKEN=… ./worker.sh http://host:8080 STUDY ./evaluate    (a name with spaces or slashes: percent-encoded)
at="$1/api/studies/$2" worker="$(hostname)-$$"
send() {
  curl --silent --show-error --fail-with-body --retry 20 --retry-connrefused --header "Authorization: Bearer $SUREST_TOKEN" \
    --header 'Content-Type: application/json' --header 'Accept: text/plain' --data "$2" "$at/$1"
}
while tickets=$(send ask "{\"worker\": \"$worker\", \"wait\": 30, \"held\": []}") && [ "$tickets" != finished ]; do
  while IFS=$'\t' read -r ticket arm item; do
    [ -n "$ticket" ] || continue  # nothing to do now: rewards of others are awaited
    if reward=$("$3" "$arm" "$item"); then
      send tell "{\"ticket\": $ticket, \"reward\": $reward, \"worker\": \"$worker\"}"
    else
      send fail "{\"ticket\": $ticket, \"worker\": \"$worker\", \"reason\": \"exit status $?\"}"
    fi > /dev/null
  done <<< "$tickets"
done
[ "$tickets" = finished ] || { echo "$tickets" >&2; exit 1; }
