"""One file a stage; each ends in `STAGE`, which an entry point of `adhere.stages` names."""
