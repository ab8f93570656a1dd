"""A visitor of the app without a browser, who sends and gets what the page does over Streamlit's websocket.

It speaks of what this page has: its kinds of widgets, and no forms or fragments.
"""

import asyncio
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Block_pb2 import Block
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from websockets.asyncio.client import ClientConnection, connect

RUNS_KEPT = 2  # that the frontend keeps large elements for: Streamlit's global.maxCachedMessageAge
PATIENCE_S = 60
TABS = "the tabs"  # which have no label


class Widget(NamedTuple):
    """A widget: what it holds, in which field of WidgetState, and its name and first value in the address, if any."""

    id: str
    label: str
    field: str
    value: Any = None
    parameter: str = ""
    first: Any = None


class Visitor:
    """One session of the page.

    Attributes
    ----------
    elements : dict of Element
        What the last run drew, or the present one has drawn so far, by the path to it.
    widgets : dict of Widget
        Those of the page, by their ids.
    address : dict of str
        The query parameters of the page's address.
    """

    def __init__(self, socket: ClientConnection, url: str, address: dict[str, str]):
        self.socket, self.url, self.address, self.session = socket, url, address, ""
        self.elements: dict[tuple[int, ...], Element] = {}
        self.widgets: dict[str, Widget] = {}
        self._large: dict[str, tuple[int, Element]] = {}  # by hash, with the run that last drew it
        self._runs = 0

    def shown(self, kind: str) -> list:
        """The elements of a kind on the page, from top to bottom."""
        elements = (element for _, element in sorted(self.elements.items()))
        return [getattr(element, kind) for element in elements if element.WhichOneof("type") == kind]

    def widget(self, label: str) -> Widget:
        """The first widget whose label begins so."""
        found = next((widget for widget in self.widgets.values() if widget.label.startswith(label)), None)
        if found is None:
            raise LookupError(f"no widget “{label}” among {[widget.label for widget in self.widgets.values()]}")
        return found

    async def use(self, label: str, value: Any = True) -> None:
        """Change a widget, or press a button, and ask for a run without waiting for it."""
        widget = self.widget(label)._replace(value=value)
        if "trigger" in widget.field:
            await self.ask(widget)
            return
        self.widgets[widget.id] = widget
        if widget.parameter:
            self.address.pop(widget.parameter, None)
            self.address |= {widget.parameter: _in_an_address(value)} if value != widget.first else {}
        await self.ask()

    async def ask(self, *pressed: Widget) -> None:
        """Ask for a run of the script with the widgets as they are."""
        message = BackMsg()
        request = message.rerun_script
        request.query_string = urlencode(self.address)
        request.cached_message_hashes.extend(self._large)
        request.context_info.color_scheme = "light"
        for widget in (*self.widgets.values(), *pressed):
            if widget.value is None:
                continue
            state = request.widget_states.widgets.add(id=widget.id)
            if widget.field.endswith(("array_value", "string_trigger_value")):
                holder = getattr(state, widget.field)
                holder.MergeFrom(type(holder)(data=widget.value))
            else:
                setattr(state, widget.field, widget.value)
        await self.socket.send(message.SerializeToString())

    async def messages(self) -> AsyncIterator[ForwardMsg]:
        """The messages of what was asked for last, as they come, until it is done."""
        drawn: set[str] = set()
        while True:
            message = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), PATIENCE_S))
            kind, path = message.WhichOneof("type"), tuple(message.metadata.delta_path)
            if kind == "new_session":
                drawn, self.elements, self.session = set(), {}, message.new_session.initialize.session_id
            elif kind == "page_info_changed":
                self.address = dict(parse_qsl(message.page_info_changed.query_string))
            elif kind == "ref_hash":
                drawn |= self._draw(path, self._large[message.ref_hash][1], message.ref_hash)
            elif kind == "delta" and message.delta.HasField("new_element"):
                hash_of_large = message.hash if message.metadata.cacheable else ""
                drawn |= self._draw(path, message.delta.new_element, hash_of_large)
            elif kind == "delta" and message.delta.HasField("add_block"):
                drawn |= self._take(_widget_of_block(message.delta.add_block), None)
            yield message
            if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                break
        self.widgets = {key: widget for key, widget in self.widgets.items() if key in drawn}
        self._runs += 1
        self._large = {key: kept for key, kept in self._large.items() if kept[0] + RUNS_KEPT >= self._runs}

    async def settle(self) -> None:
        """Wait for the end of the run."""
        async for _ in self.messages():
            pass

    async def download(self, label: str) -> bytes:
        """The file behind a button, which is made when it is asked for."""
        (button,) = (button for button in self.shown("download_button") if button.label == label)
        message = BackMsg()
        request = message.backend_operation_request
        request.request_id, request.session_id = label, self.session
        request.deferred_file.file_id = button.deferred_file_id
        await self.socket.send(message.SerializeToString())
        reply = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), PATIENCE_S))
        return await asyncio.to_thread(_read, self.url + reply.backend_operation_response.deferred_file.url)

    def _draw(self, path: tuple[int, ...], element: Element, hash_of_large: str) -> set[str]:
        self.elements[path] = element
        if hash_of_large:
            self._large[hash_of_large] = (self._runs, element)
        widget = _widget_of(element)
        return self._take(widget, widget and widget.first)

    def _take(self, widget: Widget | None, at_first: Any) -> set[str]:
        """Remember a widget that was drawn, which keeps its value unless the server sets it; its id."""
        if widget is None:
            return set()
        if widget.value is None:
            kept = self.widgets.get(widget.id)
            widget = widget._replace(value=kept.value if kept else at_first)
        self.widgets[widget.id] = widget
        return {widget.id}


@asynccontextmanager
async def arriving(url: str, **address: str) -> AsyncIterator[Visitor]:
    """A visitor of the page at an address, whose first run has begun; who leaves by closing the tab."""
    stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    handshake = {"subprotocols": ["streamlit", "PLACEHOLDER_AUTH_TOKEN"], "origin": url}  # as of who is not logged in
    async with connect(stream, **handshake, max_size=None, compression=None) as socket:
        visitor = Visitor(socket, url, address)
        await visitor.ask()
        yield visitor


@asynccontextmanager
async def visiting(url: str, **address: str) -> AsyncIterator[Visitor]:
    """A visitor whose first run has ended."""
    async with arriving(url, **address) as visitor:
        await visitor.settle()
        yield visitor


def _read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as reply:
        return reply.read()


def _in_an_address(value: Any) -> str:
    """A value as the frontend writes it: lists of one, such as those of sliders, without brackets or decimals."""
    if isinstance(value, bool):
        return str(value).lower()
    return (
        value
        if isinstance(value, str)
        else ",".join(f"{each:g}" if isinstance(each, float) else each for each in value)
    )


def _widget_of(element: Element) -> Widget | None:
    """What of an element can be used; its value is only there if the server sets it."""
    kind = element.WhichOneof("type")
    it = getattr(element, kind)
    if kind in ("text_input", "text_area"):
        field, first, value = "string_value", it.default, it.value
    elif kind == "checkbox":
        field, first, value = "bool_value", it.default, it.value
    elif kind == "selectbox":
        field, first, value = "string_value", it.options[it.default], it.raw_value
    elif kind in ("button_group", "multiselect"):
        options = [option.content for option in it.options] if kind == "button_group" else it.options
        field, first, value = "string_array_value", [options[index] for index in it.default], list(it.raw_values)
    elif kind == "slider" and it.type == Slider.SELECT_SLIDER:
        first = [it.options[int(index)] for index in it.default]
        field, value = "string_array_value", list(it.raw_value)
    elif kind == "slider":
        field, first, value = "double_array_value", list(it.default), list(it.value)
    elif kind in ("button", "menu_button"):
        return Widget(it.id, it.label, {"button": "trigger_value", "menu_button": "string_trigger_value"}[kind])
    else:
        return None
    return Widget(it.id, it.label, field, value if it.set_value else None, it.query_param_key, first)


def _widget_of_block(block: Block) -> Widget | None:
    """What of a block can be used: an expander that asks for a run, or tabs."""
    if block.HasField("expandable") and block.expandable.id:
        it = block.expandable
        return Widget(it.id, it.label, "bool_value", None, "", it.expanded)
    if block.HasField("tab_container") and block.tab_container.id:
        it = block.tab_container
        return Widget(it.id, TABS, "string_value", None, it.query_param_key, it.default_tab_label)
    return None
