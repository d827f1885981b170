"""`tundish.pack` and `tundish.write_manifest`: the command `tundish pack` as Python functions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._c.errors import ArgumentError, Error, new_error
from .data.data_source import DataSource
from .program import find_program
from .progress import Amount, ProgressLine, Show, in_notebook

if TYPE_CHECKING:
    from .samples.worker_pool import Workers

Path = str | os.PathLike[str] | DataSource


def pack(
    source: Path | Sequence[Any] | Iterable[Any] | Any,
    output: Path,
    *,
    progress: bool | Callable[[dict[str, int]], object] | None = None,
    shard_size: str | int | None = None,
    shard: tuple[int, int] | None = None,
    resume: bool = True,
    processes: int | None = None,
    classes: Sequence[str] | None = None,
    identity: str | None = None,
    same_shape: bool | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Writes a dataset into one .tnd file (a pack) that loads faster. Returns the result as a dict.

    source      a folder (SOURCE/CLASS/NAME.jpg), a list, an archive, another pack, or any other dataset in
                docs/sources.md; a tundish.DataSource; or samples from Python: a sequence, an iterable, a torch or
                Hugging Face dataset
    output      the .tnd file to write; it appears when it is complete
    progress    None: show progress on stderr if it is a terminal or notebook; True: always, as one line every ten
                seconds in a log; False: never; a function: call it about ten times a second and at the end with a
                dict: samples, samples_total, bytes, bytes_total, refused. A total of 0 means unknown. An exception
                in the function ends the packing
    shard_size  maximum file size, "1GiB" or bytes: writes OUTPUT-00000.tnd, ..., and OUTPUT.tnds, which opens them
                as one dataset
    shard       (3, 12): pack only part 3 of 12, as OUTPUT-00003-of-00012.tnd; write_manifest() joins the parts
    resume      True: continue an interrupted pack of this output; False: start over
    options     options of `tundish pack --help` (docs/pack.md): force=True, skip_bad=True, dry_run=True,
                codec="keep", lanes_tables="builtin", max_growth=1.1, strip_metadata=True, threads=4;
                filter="label=cat and width>=64" (or a list), subset="10%", seed=1, samples=1000,
                duplicates="drop"; resize="shortest=256", center_crop=224, reencode="jpeg:q90", prove=True

    Only for samples from Python, which also accept image="NAME" and label="NAME" (docs/sources.md):
    processes   number of processes that read; 0: a thread of this process; None: one per CPU if that pays off
    classes     names of the labels 0, 1, ...; None: the attribute `classes` of the dataset
    identity    text that must match to continue an interrupted pack; None: a digest of 16 samples
    same_shape  whether all arrays have the shape of the first array; None: True if 16 samples agree

    The result has the keys of `tundish pack --json`. Raises tundish.Error if packing fails. If some files cannot be
    packed, raises it after packing all others; with skip_bad=True, only lists such files in the result.
    """
    if progress is None:
        progress = os.isatty(2) or in_notebook()
    options |= {"shard_size": shard_size, "no_resume": not resume}
    options |= {} if shard is None else {"shard": f"{shard[0]}/{shard[1]}"}
    source = _load_saved_dataset(source)
    about = {"classes": classes, "identity": identity, "same_shape": same_shape}
    if isinstance(source, str | os.PathLike):
        argv = _source_argv(source, {**about, "processes": processes})
        argv += [*_flags(options), "--output", os.fspath(output), "--", os.fspath(source)]
        result, code = _run_with_progress(argv, progress, {})
    else:
        result, code = _pack_samples(source, output, progress, processes, about, options)
    if result["proof"] and result["proof"]["different"]:
        raise _disproof(result)
    if code != 0:
        raise _refusal(result)
    return result


def _source_argv(source: Path, for_samples: dict[str, Any]) -> list[str]:
    """Returns the options of a DataSource. Refuses options that only apply to samples from Python."""
    given = [name for name, value in for_samples.items() if value is not None]
    if given:
        raise ArgumentError(f"{given[0]}= is for samples from Python, and the source is a path")
    return source.argv() if isinstance(source, DataSource) else []


def _load_saved_dataset(source: Any) -> Any:
    """Loads a folder written by Hugging Face's Dataset.save_to_disk(). Returns any other source unchanged."""
    names = ("state.json", "dataset_info.json")
    if not isinstance(source, str | os.PathLike):
        return source
    if not all(os.path.isfile(os.path.join(source, name)) for name in names):
        return source
    try:
        from datasets import load_from_disk
    except ImportError:
        return source  # the program reports the error and its fix
    return load_from_disk(os.fspath(source))


def _pack_samples(
    dataset: Any,
    output: Path,
    progress: bool | Show,
    processes: int | None,
    about: dict[str, Any],
    options: dict[str, Any],
) -> tuple[dict[str, Any], int]:
    """Packs a Python dataset. SampleSet receives `about` and two of the options."""
    from .samples.sample_set import SampleSet
    from .samples.worker_pool import Workers  # both import NumPy, which a path does not need

    for name in ("image", "label"):
        about[name] = options.pop(name, None) or ""
    samples = SampleSet(dataset, **about)
    if not samples.has_jpegs:
        options.setdefault("lanes_tables", "builtin")  # otherwise samples are read twice
    argv = [*_flags(options), "--output", os.fspath(output), "--", samples.name]
    return _run_serving(argv, progress, Workers(samples, processes))


def _run_serving(
    argv: list[str], progress: bool | Show, workers: Workers
) -> tuple[dict[str, Any], int]:
    """Runs `tundish pack` while `workers` serve the samples of a Python dataset, then ends the workers."""
    try:
        result, code = _run_with_progress(argv, progress, workers.popen_options())
    except Error as error:
        deaths = workers.deaths() if error.code == "TND-321" else ""
        if not deaths:
            raise
        raise new_error(321, f"{error}\n  {deaths}") from None
    finally:
        workers.stop()
    result["processes"] = workers.count
    result["one_process_reason"] = workers.one_process_reason or None
    return result, code


def _run_with_progress(
    argv: list[str], progress: bool | Show, popen: dict[str, Any]
) -> tuple[dict[str, Any], int]:
    """Runs `tundish pack` and shows its progress. Returns the printed result and the exit code.

    argv   arguments after `tundish pack`
    popen  options for subprocess
    """
    argv = [find_program(), "pack", "--json", *argv]
    terminal = os.isatty(2)
    if callable(progress):
        code, out, messages = _run_showing(argv, progress, popen)
    elif progress and (in_notebook() or not terminal):
        line = ProgressLine(sys.stderr, redraw=in_notebook())
        try:
            code, out, messages = _run_showing(argv, line, popen)
        finally:
            line.end()
    else:
        argv = [*argv[:2], f"--progress={'auto' if progress else 'never'}", *argv[2:]]
        code, out, messages = _run(argv, popen)
    return _result(code, out, messages), code


def write_manifest(
    manifest: Path, shards: Sequence[Path], *, force: bool = False
) -> dict[str, Any]:
    """Joins several packs in one folder into a single dataset.

    For example, joins the parts written by `pack(..., shard=(i, n))`.

    manifest  the .tnds file to write, in the folder of the packs; it can be opened wherever a pack can
    shards    the packs in order; they must have the same fields and classes
    force     replace the manifest if it exists
    """
    argv = [find_program(), "pack", "--json", *_flags({"force": force})]
    argv += ["--manifest", os.fspath(manifest), "--", *[os.fspath(shard) for shard in shards]]
    return _result(*_run(argv, {}))


def _result(code: int, out: str, messages: str) -> dict[str, Any]:
    """Returns the result that the program printed, or raises the error that it printed."""
    try:
        result = json.loads(out)
    except ValueError:
        raise Error(f"tundish pack ended with {code} and no result: {messages.strip()}") from None
    if "error" in result:
        raise _error(result["error"])
    return dict(result)


def _flags(options: dict[str, Any]) -> list[str]:
    """Converts max_growth=1.1 to --max-growth=1.1 and force=True to --force.

    A list repeats its option. False and None are omitted.
    """
    flags = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        values = value if isinstance(value, list | tuple) else [value]
        flags += [flag if each is True else f"{flag}={each}" for each in values]
    return flags


def _run(argv: list[str], popen: dict[str, Any]) -> tuple[int, str, str]:
    """Runs the program and returns its exit code, stdout and stderr.

    On a terminal, the program itself writes messages and progress to stderr.
    """
    with subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=None if os.isatty(2) else subprocess.PIPE,
        encoding="utf-8",
        errors="backslashreplace",
        **popen,
    ) as process:
        try:
            out, messages = process.communicate()
        except BaseException:  # Ctrl-C: the program cleans up before it ends
            _interrupt(process)
            raise
    _print_warnings(messages or "")
    return process.returncode, out, messages or ""


def _run_showing(argv: list[str], show: Show, popen: dict[str, Any]) -> tuple[int, str, str]:
    """Like _run(), but calls `show` in this thread with the progress that the program prints on stderr."""
    argv = [*argv[:2], "--progress=json", *argv[2:]]
    messages, out = [], []
    with subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="backslashreplace",
        **popen,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # A long result would fill the stdout pipe while this thread reads stderr to its end.
        reader = threading.Thread(
            target=lambda file: out.append(file.read()), args=[process.stdout]
        )
        reader.start()
        try:
            for line in process.stderr:
                amount = _progress_of(line)
                if amount is None:
                    messages.append(line)
                else:
                    show(amount)
            process.wait()
        except (
            BaseException
        ):  # Ctrl-C, or `show` raised an exception: the program cleans up before it ends
            process.stderr.close()
            _interrupt(process)
            raise
        finally:
            reader.join()
    text = "".join(messages)
    if os.isatty(2):
        sys.stderr.write(text)
    else:
        _print_warnings(text)
    return process.returncode, "".join(out), text


def _print_warnings(messages: str) -> None:
    """Prints the warnings of the program: in a notebook or a log, nobody else would."""
    warnings = [line for line in messages.splitlines(True) if line.startswith("warning: ")]
    if warnings and sys.stderr is not None:
        sys.stderr.write("".join(warnings))


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Waits until the program has ended, and interrupts it only if necessary.

    Ctrl-C on a terminal reaches the program too, and a second signal would kill it.
    """
    try:
        process.wait(timeout=0.25)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()


def _progress_of(line: str) -> Amount | None:
    """Parses a progress line. Returns None for a message."""
    if not line.startswith('{"progress":'):
        return None
    return dict(json.loads(line)["progress"])


def _error(error: dict[str, Any]) -> Error:
    if error["code"] is None:  # an unknown option, or an invalid value
        return ArgumentError(error["message"])
    return new_error(int(error["code"].removeprefix("TND-")), error["message"])


def _disproof(result: dict[str, Any]) -> Error:
    different = result["proof"]["different"]
    return Error(
        f"{result['output']} was written, but {len(different):,} of {result['proof']['records']:,} records differ from "
        f"the images that the loader makes from the files; the first is {different[0]}"
    )


def _refusal(result: dict[str, Any]) -> Error:
    """Returns the error for files that could not be packed."""
    refused = result["refused"]
    text = (
        f"{refused[0]['message']}\n  {len(refused):,} such files were left out of {result['output']}, "
        f"which has the other {result['samples']:,}; skip_bad=True accepts that"
    )
    return new_error(int(refused[0]["code"].removeprefix("TND-")), text)
