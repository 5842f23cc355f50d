"""The explorer's API under requests drawn from its own schema, valid, nearly valid and rubbish: no answer may be 5xx.

python benchmarks/explorer_fuzz.py            # 10,000 requests
python benchmarks/explorer_fuzz.py 500 --seed 3
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "explorer"))

from api_client import client_of
from fuzzing import operations, requests
from test_fuzz import check, names_of

from rote.explorer import Workbench
from rote.store import Store

SAID = 500  # requests between two lines of progress


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("requests", nargs="?", type=int, default=10_000)
    reader.add_argument("--seed", type=int, default=0)
    asked = reader.parse_args()
    warnings.simplefilter("ignore")  # what models say about texts that they cannot read
    statuses: Counter[int] = Counter()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, client_of(Workbench(Store(folder))) as client:
        schema = client.get("/api/openapi.json").json()
        strategy = requests(schema, names_of(client))

        @seed(asked.seed)
        @settings(
            max_examples=asked.requests, deadline=None, database=None, derandomize=False,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(st.data())
        def fuzz(data: st.DataObject) -> None:
            statuses[check(client, data.draw(strategy))] += 1
            if statuses.total() % SAID == 0:
                print(f"{statuses.total()} requests, none 5xx", file=sys.stderr, flush=True)

        fuzz()
    told = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    seconds = time.perf_counter() - begun
    print(f"{statuses.total()} requests to {len(operations(schema))} routes in {seconds:.0f} s, none 5xx: {told}")


if __name__ == "__main__":
    main()
