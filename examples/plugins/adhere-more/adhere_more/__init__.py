"""Training methods and transforms that `adhere` offers as a plug-in: the zoo showed neither help nor harm, or no study names them."""
