"""Files of JSON lines of any size.

blocks.py  files in blocks of whole lines, plain or compressed; written whole or not at all
workers.py the same work on each block, here or in several processes, given back in order
"""
