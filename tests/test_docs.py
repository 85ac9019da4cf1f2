"""The pages' examples run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "docs/getting_started.md",
    "docs/user_guide.md",
    "docs/losses.md",
    "docs/dictionaries.md",
    "docs/moving_from_svc.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})
    score, n_support = re.findall(r"[\d.]+", capsys.readouterr().out)[:2]
    assert float(score) > 0.9
    assert 0 < int(n_support) < 200


@pytest.mark.parametrize("page", ["bounds", "components"])
def test_pages_that_assert(page):
    """Each block stands alone; what a block claims, it asserts."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert all("assert " in block for block in blocks)
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), {})


def test_densities_page(capsys):
    """Each block stands alone; what a block claims, it asserts."""
    text = (ROOT / "docs/densities.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "densities.md", "exec"), {})
    errors = re.findall(r"largest error ([\d.e+-]+)", capsys.readouterr().out)
    assert float(errors[0]) > 1.0 > 1e-8 > float(errors[1])
