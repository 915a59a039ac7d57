#!/bin/sh
# A stop hook of Claude Code: prints the rules that this very session broke, and lets the agent go on with them.
# In .claude/settings.json:
#   {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh rules/stop-hook.sh AGENTS.md"}]}]}}
# Exit code 2 hands what stands on stderr to the agent; it is asked once, so that it can stop.
input=$(cat)
rules=${1:-AGENTS.md}
field() { printf '%s' "$input" | python3 -c "import json, sys; print(json.load(sys.stdin).get('$1', ''))"; }
[ "$(field stop_hook_active)" = True ] && exit 0
broken=$(adhere rules "$rules" "$(field transcript_path)" --json | python3 -c '
import json, sys
out = json.load(sys.stdin)
quotes = {rule["id"]: rule["quote"] for rule in out["rules"]}
for one in out["verdicts"]:
    if one["outcome"] == "broken":
        print("- " + quotes[one["rule"]] + " (" + one["reason"] + ")")
')
[ -z "$broken" ] && exit 0
printf 'These rules are broken in this session:\n%s\n' "$broken" >&2
exit 2
