"""`bench before`: compares a checkout with itself."""

from tests.helpers.bench_runs import ROOT, bench, check_rows, needs_build


@needs_build
def test_a_checkout_is_about_as_fast_as_itself(samples, tmp_path):
    words = ["--rounds", "1", "--parts", "load", "--cached"]
    words += ["--milliseconds", "100", "--images", "128"]
    rows, text = bench("before", samples, tmp_path, "--before", ROOT, *words)
    check_rows(rows, "before")
    assert {row["contestant"] for row in rows} == {
        "Loader, one thread",
        "Loader with Normalize, one thread",
        "tundish bench, one thread",
    }
    for row in rows:
        assert row["part"] == "load"
        assert row["low"] <= row["value"] <= row["high"]
        assert row["before"]
    assert "95 % interval" in text
