"""Readers of sessions, one for each format. Each makes sessions of decoded rows and knows nothing of files.

claude.py    Claude Code: stored sessions, sub-agents, `--output-format stream-json`
codex.py     Codex: rollouts of every version, `codex exec --json`
gemini.py    Gemini CLI: stored chats and checkpoints
messages.py  conversations as APIs have them: Chat, Responses, Messages, Gemini; plain `{"messages"}`; logs of requests
inspect.py   inspect's logs, a session for each sample
spans.py     OpenTelemetry's GenAI spans
episodes.py  episodes of our worlds, from runs
"""
