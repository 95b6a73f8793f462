"""References for gpualign and the papers it is based on. CITATION.cff has the same data, and a test compares the two."""

from __future__ import annotations

from gpualign import __version__

_CITATION_TEXT = """\
To cite gpualign:

  The gpualign developers (2026). gpualign: exact all-vs-all sequence alignment and distance on CPUs, GPUs and clusters. Version {version}.

The methods that --kernel selects, and that bench measures, come from three papers. Please cite the one you use:

  Payne JL, Sinnott-Armstrong NA, Moore JH (2010). Exploiting Graphics Processing Units for Computational Biology and
  Bioinformatics. Interdisciplinary Sciences: Computational Life Sciences 2(3), 213-220. doi:10.1007/s12539-010-0002-4

  Li D, Sajjapongse K, Truong H, Conant G, Becchi M (2013). A Distributed CPU-GPU Framework for Pairwise Alignments on
  Large-Scale Sequence Datasets. IEEE 24th International Conference on Application-Specific Systems, Architectures and
  Processors (ASAP). doi:10.1109/ASAP.2013.6567598

  Munekawa Y, Ino F, Hagihara K (2008). A Fast method for Sequence Alignment Using the CUDA-equipped GPU (in Japanese).

BibTeX:

@software{gpualign,
  author = {{The gpualign developers}},
  title = {gpualign: exact all-vs-all sequence alignment and distance on CPUs, GPUs and clusters},
  version = {{version}},
  year = {2026}
}

@article{payne2010,
  author = {Payne, Joshua L. and Sinnott-Armstrong, Nicholas A. and Moore, Jason H.},
  title = {Exploiting Graphics Processing Units for Computational Biology and Bioinformatics},
  journal = {Interdisciplinary Sciences: Computational Life Sciences},
  year = {2010},
  volume = {2},
  number = {3},
  pages = {213--220},
  doi = {10.1007/s12539-010-0002-4}
}

@inproceedings{li2013,
  author = {Li, Da and Sajjapongse, Kittisak and Truong, Huan and Conant, Gavin and Becchi, Michela},
  title = {A Distributed CPU-GPU Framework for Pairwise Alignments on Large-Scale Sequence Datasets},
  booktitle = {IEEE 24th International Conference on Application-Specific Systems, Architectures and Processors (ASAP)},
  year = {2013},
  doi = {10.1109/ASAP.2013.6567598}
}

@misc{munekawa2008,
  author = {Munekawa, Yuma and Ino, Fumihiko and Hagihara, Kenichi},
  title = {A Fast method for Sequence Alignment Using the CUDA-equipped GPU},
  year = {2008},
  note = {In Japanese}
}
"""


def citation_text() -> str:
    """Return the output for --citation: references as text, then as BibTeX."""
    return _CITATION_TEXT.replace("{version}", __version__)
