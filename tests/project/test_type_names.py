"""No two types of the engine share a qualified name, which C++ forbids across translation units."""

import re
from collections import defaultdict

from tests.helpers.program import ROOT

# A scope opens with "namespace a::b {", "class Name final : Base {" or another "{".
TOKEN = re.compile(
    r"R\"(?P<mark>\w*)\(.*?\)(?P=mark)\"|(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])"  # a raw string, 1'000
    r"|//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\bnamespace(?P<space>\s+[\w:]+)?\s*\{"
    r"|\benum\s+(?:class\s+|struct\s+)?(?P<enum>\w+)\s*(?::[^;{()]*)?\{"
    r"|\b(?P<key>struct|class|union)\s+(?:alignas\([^)]*\)\s*)?(?P<type>\w+)(?P<special>\s*<[^;{}]*?>)?"
    r"\s*(?:final\s*)?(?::(?!:)[^;{()]*)?\{"
    r"|[{}]",
    re.DOTALL,
)


def types(text):
    """Yields the qualified names of types that are defined outside of functions and anonymous namespaces."""
    scopes = []  # a name, "" for a block, None for an anonymous namespace
    for token in TOKEN.finditer(text):
        word = token.group()
        if word == "}":
            scopes.pop()
        elif word == "{":
            scopes.append("")
        elif word.startswith("namespace"):
            scopes.append((token["space"] or "").strip() or None)
        elif word.startswith(("struct", "class", "union", "enum")):
            name = token["enum"] or token["type"]
            if None not in scopes and "" not in scopes and not token["special"]:
                yield "::".join([*scopes, name])
            scopes.append(name)


def places():
    found = defaultdict(set)
    for folder in ("src", "include"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".h", ".cpp", ".cu", ".cuh"):
                for name in types(file.read_text()):
                    found[name].add(str(file.relative_to(ROOT)))
    return found


def test_every_type_has_a_name_of_its_own():
    found = places()
    assert len(found) > 500
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_types_are_found_in_their_scopes():
    text = """
    namespace a::b {
    struct One { int x; struct Inner {}; };  // struct Comment {
    class Two final : public One {};
    enum class Three : int { x };
    template <> struct Four<int> {};
    namespace { struct Hidden {}; }
    void f() { struct Local {}; }
    }
    """
    names = ["a::b::One", "a::b::One::Inner", "a::b::Two", "a::b::Three"]
    assert list(types(text)) == names
