"""The 58 kinds of IFBench as published; `fixed` holds the mended rules, `english/` their language tools."""
