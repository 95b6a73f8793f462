"""
The order in which the blocks of a device take the strips of the items of a batch.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def make_schedule(strips: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lanes: int) -> object:
    """
    Return units int32[units][2] (item, strip), slots int32[items] and before int32[items]: see gpualign.gpu.alignment.strip_schedule.Schedule.
    """
