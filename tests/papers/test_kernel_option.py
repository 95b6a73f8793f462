"""`--kernel` of nw, sw and dist through the executable: the same bytes as without it on a GPU, clear refusals elsewhere."""

import pytest
from command import gpualign
from places import DATA

ALIGN = ["nw", "--gap", "6", DATA / "16s_small.fasta"]
SEARCH = ["sw", DATA / "proteins_query.fasta", DATA / "proteins_db.fasta"]
DIST = ["dist", DATA / "snps.tsv"]

CASES = [
    *(
        ([*ALIGN, "--fields", "query,target,score,identity,cigar"], kernel, more)
        for kernel, more in [
            ("rodinia", []),
            ("tiled-dscan", ["--transfer", "pinned"]),
            ("dscan", ["--transfer", "pageable"]),
            ("rscan", []),
            ("li-auto", []),
        ]
    ),
    *((SEARCH, kernel, []) for kernel in ("munekawa-scalar", "munekawa-vector")),
    (["sw", "--all", *SEARCH[1:]], "munekawa-vector", []),
    *((DIST, kernel, []) for kernel in ("naive", "coalesced", "char", "register", "shared")),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("command", "kernel", "more"), CASES)
def test_the_same_bytes(real_device, command, kernel, more):
    expected = gpualign(*command, "--device", "cpu").stdout
    assert gpualign(*command, "--kernel", kernel, *more).stdout == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*ALIGN, "--kernel", "dscan", "--device", "cpu"], "--kernel dscan is for one GPU; it cannot be combined with --device cpu"),
        ([*ALIGN, "--kernel", "dscan", "--device", "all"], "--kernel dscan is for one GPU; it cannot be combined with --device all"),
        ([*ALIGN, "--kernel", "dscan", "--device", "cpu,cuda"], "it cannot be combined with --device cpu,cuda"),
        ([*SEARCH, "--kernel", "munekawa-scalar", "--device", "cuda:0,1"], "for one GPU"),
        ([*DIST, "--kernel", "naive", "--device", "cuda:all"], "for one GPU"),
        ([*DIST, "--kernel", "naive", "--metric", "ibs"], "--kernel naive counts differing calls"),
        ([*ALIGN, "--transfer", "pinned"], "--transfer is for the kernels of Li 2013"),
        ([*ALIGN, "--kernel", "rscan", "--traceback", "host"], "traces on the host anyway"),
    ],
)
def test_refusals(arguments, message):
    done = gpualign(*arguments, check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_without_a_gpu_the_reason_is_told():
    from gpualign.gpu.runtime.inventory import detect_devices

    reason = detect_devices().reason
    if reason is None:
        pytest.skip("this machine has a GPU")
    done = gpualign(*DIST, "--kernel", "shared", check=False)
    assert done.returncode == 1
    assert f"--kernel shared: {reason}" in done.stderr.decode()
