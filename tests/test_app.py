"""The page, without a browser: every preset renders, and its numbers follow the widgets."""

import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import model

APP = Path(__file__).parents[1] / "app.py"
VIEWS = ("Utilization", "Parallelism", "Maximum training compute")
DENSE = "GPU generations, dense"


def page(view: str = VIEWS[0], preset: str = DENSE) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["view"] = view
    app.session_state["preset"] = preset
    return app.run()


def charts(app: AppTest) -> int:
    return len(app.get("vega_lite_chart"))


def headline(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def table(app: AppTest):
    """The limits by the name of the configuration, without its swatch."""
    frame = app.table[0].value.map(lambda cell: re.sub(r":\w+\[.*?\]\W*", "", cell).replace("\u00a0", " "))
    return frame.set_index("Configuration")


@pytest.mark.parametrize("title", model.load_presets())
def test_every_preset_renders_in_every_tab(title):
    for view in VIEWS:
        app = page(view, title)
        assert not app.exception, app.exception
        assert charts(app) >= 1, view
        words = [element.value for kind in (app.main.metric, app.main.markdown, app.main.caption) for element in kind]
        assert not [text for text in words if re.search(r"\de[+-]?\d|nan|None", text)], words


def test_parallelism_has_a_panel_for_each_configuration_and_each_network_level():
    preset = model.load_presets()[DENSE]
    assert charts(page(VIEWS[1])) == len(preset.configurations) + len(preset.configurations[0].network)


def test_headline_is_of_the_selected_configuration():
    app = page()
    before = headline(app)
    assert before["Linear scaling ends"] == "2.0 × 10²⁸ FLOP"  # the H100's
    assert before["Latency wall"] == "2.7 × 10³¹ FLOP"
    assert before["Parameters"] == "13.1 trillion"
    app.selectbox(key="configuration").select("V100").run()
    assert headline(app)["Linear scaling ends"] == "2.8 × 10²⁷ FLOP"


def test_a_curve_that_ends_with_the_sweep_claims_no_latency_wall():
    limits = table(page(VIEWS[2], "Critical batch size"))["Latency wall (FLOP)"]
    assert limits["DeepSeek"] == "≥ 2.4 × 10³⁶"
    assert not limits.drop("DeepSeek").str.contains("≥").any()


def test_table_lists_every_configuration_with_the_papers_numbers():
    limits = table(page(VIEWS[2]))
    assert limits["Linear scaling ends (FLOP)"].to_dict() == {
        "V100": "2.8 × 10²⁷",
        "A100": "3.4 × 10²⁸",
        "H100": "2.0 × 10²⁸",
    }
    assert set(limits["Model"]) == {"dense"}
    assert limits.loc["H100", "Crosses again"] == "yes"


def test_threshold_moves_table_and_headline():
    app = page(VIEWS[2])
    at_80, headline_at_80 = table(app), headline(app)
    app.slider(key="threshold").set_value(50).run()
    assert not app.exception
    assert (table(app)["Linear scaling ends (FLOP)"] != at_80["Linear scaling ends (FLOP)"]).all()
    assert headline(app)["Linear scaling ends"] != headline_at_80["Linear scaling ends"]
    assert headline(app)["Latency wall"] == headline_at_80["Latency wall"]


def test_unticked_configurations_vanish():
    app = page(VIEWS[2])
    assert list(table(app).index) == ["H100", "A100", "V100"]
    app.checkbox[0].uncheck().run()
    assert not app.exception
    assert list(table(app).index) == ["A100", "V100"]
    assert app.selectbox(key="configuration").options == ["A100", "V100"]
    app.checkbox[0].check().run()
    assert list(table(app).index) == ["H100", "A100", "V100"]


def test_ticks_outlive_a_look_at_another_preset():
    app = page(VIEWS[2])
    app.checkbox[1].uncheck().run()
    other = next(title for title in model.load_presets() if title != DENSE)
    app.selectbox(key="preset").select(other).run()
    app.selectbox(key="preset").select(DENSE).run()
    assert list(table(app).index) == ["H100", "V100"]


def test_nothing_ticked_says_what_to_do():
    app = page()
    for checkbox in app.checkbox:
        checkbox.uncheck()
    app.run()
    assert not app.exception
    assert [info.value for info in app.info] == ["Tick at least one configuration in the sidebar."]
    assert charts(app) == 0


@pytest.fixture
def preset_of(monkeypatch):
    """Make the only preset one of H100s, changed in the fields given by name."""

    def install(**changes: dict) -> list[model.Configuration]:
        preset = model.load_presets()[DENSE]
        h100 = preset.configurations[0]
        configurations = tuple(
            h100.model_copy(update={"name": name} | {part: getattr(h100, part).model_copy(update=fields)})
            for name, (part, fields) in changes.items()
        )
        presets = {DENSE: preset.model_copy(update={"configurations": configurations})}
        monkeypatch.setattr(model, "load_presets", lambda: presets)
        st.cache_resource.clear()
        return list(configurations)

    yield install
    st.cache_resource.clear()


def test_infeasible_configuration_shows_its_reason_beside_the_others(preset_of):
    rushed, _ = preset_of(
        Rushed=("assumptions", {"training_months": 2e-5}), Patient=("assumptions", {"training_months": 3})
    )
    frame = model.simulate(rushed)
    assert frame.empty
    app = page(VIEWS[2])
    assert not app.exception, app.exception
    (warning,) = app.warning
    assert "Rushed" in warning.value
    assert frame.attrs["reason"] in warning.value.replace("\\", "")
    assert list(table(app).index) == ["Patient"]
    app.checkbox[1].uncheck().run()  # nothing feasible is left
    assert not app.exception, app.exception
    assert frame.attrs["reason"] in app.warning[0].value.replace("\\", "")
    assert charts(app) == 0


def test_a_curve_that_never_falls_to_the_threshold_says_so(preset_of):
    (short,) = preset_of(Short=("sweep", {"d_model_max": 20480}))
    assert (model.simulate(short)["fraction_of_peak"] > 0.8).all()
    for view in VIEWS:
        app = page(view)
        assert not app.exception, app.exception
        assert headline(app)["Linear scaling ends"] == headline(app)["Parameters"] == "—"
        assert "MFU stays above 80% of peak sustained up to the end of the curve." in [
            c.value for c in app.main.caption
        ]
    assert table(page(VIEWS[2])).loc["Short", "Linear scaling ends (FLOP)"] == "—"


def test_a_curve_of_one_point_on_one_gpu_is_drawn(preset_of):
    (tiny,) = preset_of(Tiny=("sweep", {"d_model_min": 256, "d_model_max": 256, "d_model_multiple": 256}))
    frame = model.simulate(tiny)
    assert len(frame) == 1
    for view in VIEWS:
        app = page(view)
        assert not app.exception, app.exception
        assert charts(app) >= 1
