"""Scale past one machine: each piece of work is one picklable step, which existing engines run.

kinds.py    the steps: Judge, Decontaminate, Transform, Score, Draw
shards.py   files of any place and number, cut into shards; what a shard's work leaves behind
engines.py  what does the shards: processes of this machine, Ray, datatrove
run.py      shards, engine and manifest put together: what `--engine` does

    ds.map_batches(Decontaminate, fn_constructor_args=(settings,), batch_format="pyarrow", concurrency=4)    Ray Data
    adhere decontaminate 's3://bucket/*.jsonl.zst' --against ifeval:PATH --engine ray --out s3://bucket/clean
"""

from adhere.steps.kinds import Decontaminate, Draw, Judge, Score, Transform

__all__ = ["Decontaminate", "Draw", "Judge", "Score", "Transform"]
