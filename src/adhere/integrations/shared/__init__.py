"""Parts that several houses share: files read and written, one conversation judged, recipes as trainers' configs."""
