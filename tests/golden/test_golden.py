"""Every transcript below this folder is acted again and compared. `pytest tests/golden --rewrite` writes them anew."""

from pathlib import Path

import pytest

from tocsin.sim.transcript import perform

HERE = Path(__file__).parent
STORIES = sorted(HERE.glob("*/*.txt"))


@pytest.mark.parametrize("story", STORIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_story(story: Path, request: pytest.FixtureRequest) -> None:
    written = story.read_text()
    happened = perform(written)
    if request.config.getoption("--rewrite"):
        story.write_text(happened)
    else:
        assert happened == written


def test_a_story_that_lies_is_found_out() -> None:
    story = STORIES[0].read_text()
    lie = story.replace("deliver", "discard", 1)
    assert perform(lie) == story != lie
