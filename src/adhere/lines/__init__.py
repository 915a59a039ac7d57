"""Read, change and write files of JSON lines of any size.

blocks.py  files in blocks of whole lines, plain or compressed; written whole or not at all
parquet.py Parquet files; places.py: local paths and what fsspec reads
step.py    what becomes of rows, as one picklable step for every engine
workers.py the same work on each block, here or in several processes, with results in order
"""
