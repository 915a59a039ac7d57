"""One file a transform; each ends in `TRANSFORM`, which an entry point of `adhere.transforms` names."""
