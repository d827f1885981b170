"""Answers the program's requests for samples until it closes the connection."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from . import messages
from .images import WrongValue
from .layout import Layout

Answer = tuple[int, bytes]
Answers = Callable[[int], Answer]


def serve(connection: socket.socket, description: bytes | None, answers: Answers) -> None:
    """Answers requests with `answers`. If `answers` itself raises an exception, sends it as the last answer.

    `answers` does not raise the exceptions of datasets, but returns them as answers.
    """
    with connection:
        while (number := messages.receive_request(connection)) is not None:
            if number == messages.ASK_DESCRIPTION and description is not None:
                kind, payload = messages.DESCRIPTION, description
            else:
                try:
                    kind, payload = answers(number)
                except BaseException:
                    kind, payload = failed(f"sample {number}: ")
            if not messages.send_answer(connection, kind, payload) or kind == messages.FAILED:
                return


def failed(text: str) -> Answer:
    """Returns a last answer that contains the exception that is being handled."""
    return messages.FAILED, (text + exception_text()).encode("utf-8", "backslashreplace")


def exception_text() -> str:
    """Returns the traceback of the exception that is being handled, with the most recent call last."""
    return "\n" + traceback.format_exc(limit=-20).strip()


def answers_by_number(dataset: Any, layout: Layout) -> Answers:
    def answer(number: int) -> Answer:
        try:
            return encoded(layout, number, dataset[number])
        except Exception:
            return messages.RAISED, _about(number, exception_text())

    return answer


def answers_in_order(samples: Iterator[Any], layout: Layout) -> Answers:
    """Returns answers to requests for samples 0, 1, 2, ... An iterator that raised an exception cannot continue."""

    def answer(number: int) -> Answer:
        try:
            sample = next(samples)
        except StopIteration:
            return messages.END, b""
        except Exception:
            return failed(f"sample {number}: an iterator cannot continue after an exception")
        try:
            return encoded(layout, number, sample)
        except Exception:
            return messages.RAISED, _about(number, exception_text())

    return answer


def encoded(layout: Layout, number: int, sample: Any) -> Answer:
    try:
        return messages.SAMPLE, layout.encode(sample)
    except WrongValue as error:
        return messages.DIFFERS, _about(number, f" {error}")


def _about(number: int, text: str) -> bytes:
    return f"sample {number}:{text}".encode("utf-8", "backslashreplace")
