"""
The order in which a device's blocks take the strips of a batch's items.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def make_schedule(strips: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lanes: int) -> object:
    """
    units int32[units][2] (item, strip), slots int32[items] and before int32[items], as gpualign.gpu.alignment.strip_schedule.Schedule has them.
    """
