"""What is said of one actor of a run."""

from tickmind.record.story import RunStory, StoryEvent, StoryKind, portraits


def run(*events):
    names = {who: who.capitalize() for who in ("ada", "bram", "cleo", "dov")}
    return RunStory(names=names, last_tick_id=90, events=list(events))


def event(kind, who, other="", what="", amount=1, *, how="", tick=1):
    return StoryEvent(tick, StoryKind(kind), who, other, what, amount, how=how)


def of_ada(*events):
    return next(one for one in portraits(run(*events), most=9, moments=9) if one.actor_id == "ada").sentences


def test_talks_are_counted_with_the_one_talked_with_most():
    talks = [event("met", "ada", "bram"), event("talked", "bram", "ada"), event("met", "cleo", "ada")]
    assert of_ada(*talks) == ("Talked with two others, twice with Bram.",)
    assert of_ada(*talks[:2]) == ("Talked with Bram.",)


def test_promises_gifts_and_news_are_those_of_the_actor():
    assert of_ada(
        event("kept", "ada", "bram", "bread"),
        event("broke", "ada", "cleo", "bread"),
        event("broke", "bram", "ada", "wood"),
        event("gave", "dov", "ada", "wood"),
        event("learnt", "ada", "bram", "Tea wakes."),
        event("learnt", "cleo", "ada", "Tea wakes."),
    ) == (
        "Kept one of two promises.",
        "Gave once and was given something once.",
        "Learnt one thing from others and passed on news once.",
    )
    assert of_ada(event("broke", "ada", "bram", "bread")) == ("Broke a promise.",)


def test_work_names_what_was_made_most():
    assert of_ada(
        event("made", "ada", what="bread", amount=3, how="bake"),
        event("gathered", "ada", what="berries", amount=2),
        event("gathered", "ada", what="wood"),
        event("got", "ada", what="water", amount=9, how="draw well"),
        event("made", "bram", what="stew", amount=99, how="cook"),
        event("felt", "ada", what="low"),
    ) == ("Got nine water, and baked three bread.", "Was at times low.")


def test_only_those_of_whom_there_is_most_to_tell_are_there_in_the_order_of_the_world():
    events = [event("slept", "dov", tick=9), event("met", "cleo", "dov", tick=2), event("met", "bram", "cleo", tick=3)]
    shown = portraits(run(*events), most=2, moments=1)
    assert [one.actor_id for one in shown] == ["cleo", "dov"]
    assert [len(one.moments) for one in shown] == [1, 1]
    assert all(one.actor_id in one.moments[0].people for one in shown)


def test_an_event_of_nobody_known_makes_no_portrait():
    assert portraits(run(event("slept", "stranger")), most=9, moments=9) == ()
