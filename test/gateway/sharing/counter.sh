#!/bin/sh
# A minimal stateful MCP server: `count` returns how often it was called. Tests start a hundred at the same time.
count=0
echo "start $$" >>"$COUNTER_LOG"
while read -r line; do
  id=${line##*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"method":"initialize"'*)
    result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"counter","version":"1"}}'
    ;;
  *'"method":"tools/list"'*)
    result='{"tools":[{"name":"count","description":"Counts.","inputSchema":{"type":"object","properties":{}}}]}'
    ;;
  *'"method":"tools/call"'*)
    count=$((count + 1))
    result="{\"content\":[{\"type\":\"text\",\"text\":\"$count\"}]}"
    ;;
  *'"method":"notifications/'*) continue ;;
  *)
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"
    continue
    ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
