"""Measure the pass rates of answerers without a model on a suite: the floor below which a rate says nothing.

bots.py      the thirty answerers, ten of them bots
measure.py   their answers judged: rates by answerer and kind
stored.py    the floors of a suite, computed once and kept beside the fetched files
"""

from adhere.pipeline.floors.bots import ANSWERERS, BOTS, Answerer
from adhere.pipeline.floors.measure import AnswererRates, measure_floors
from adhere.pipeline.floors.stored import floor_of, floors_of, tallies_of

__all__ = ["ANSWERERS", "BOTS", "Answerer", "AnswererRates", "floor_of", "floors_of", "measure_floors", "tallies_of"]
