"""The classes of IPython.display, for sessions without IPython: objects that hold a text or an
image and say by the display protocol what it is."""

from __future__ import annotations

import binascii
import json
import os
from typing import Any, Callable, Dict, Optional

from . import pictures

_PLACE = "IPython.display"
_MAX_FILE_BYTES = 64 << 20


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _escape(text: str) -> str:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text


class DisplayObject:
    """Data, or where to get it: text that is the name of a file or begins like a URL is that."""

    _is_binary = False

    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, metadata: Any = None
    ) -> None:
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if isinstance(data, str) and url is None and filename is None:
            if data.startswith("http"):
                data, url = None, data
            elif _is_file(data):
                data, filename = None, data
        self.data, self.url, self.filename = data, url, filename
        self.metadata: Any = metadata if metadata is not None else {}
        self.reload()
        self._check_data()

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} object>"

    def _check_data(self) -> None:
        pass

    def reload(self) -> None:
        """Read the file or the URL again."""
        if self.filename is not None:
            with open(self.filename, "rb") as file:
                data = file.read(_MAX_FILE_BYTES)
        elif self.url is not None:
            from urllib.request import urlopen

            with urlopen(self.url) as response:
                data = response.read(_MAX_FILE_BYTES)
        else:
            return
        self.data = data if self._is_binary else data.decode("utf-8", "replace")


def _is_file(name: str) -> bool:
    try:
        return os.path.exists(name)
    except (OSError, ValueError):
        return False


class TextDisplayObject(DisplayObject):
    def _check_data(self) -> None:
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError(f"{type(self).__name__} expects text, not {self.data!r}")


class Pretty(TextDisplayObject):
    def _repr_pretty_(self, p: Any, cycle: bool) -> None:
        p.text(self.data)


class HTML(TextDisplayObject):
    def _repr_html_(self) -> Any:
        return self.data

    def __html__(self) -> Any:
        return self.data


class Markdown(TextDisplayObject):
    def _repr_markdown_(self) -> Any:
        return self.data


class Latex(TextDisplayObject):
    def _repr_latex_(self) -> Any:
        return self.data


class Math(TextDisplayObject):
    def _repr_latex_(self) -> str:
        return "$\\displaystyle %s$" % self.data.strip("$")


class SVG(DisplayObject):
    """From the <svg> element on: what stands before it in files is not for pages."""

    def _check_data(self) -> None:
        if isinstance(self.data, bytes):
            self.data = self.data.decode("utf-8", "replace")
        if isinstance(self.data, str):
            self.data = self.data[max(self.data.find("<svg"), 0) :]

    def _repr_svg_(self) -> Any:
        return self.data


class JSON(DisplayObject):
    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, expanded: bool = False,
        metadata: Any = None, root: str = "root", **kwargs: Any,
    ) -> None:  # fmt: skip
        metadata = {"expanded": expanded, "root": root, **(metadata or {}), **kwargs}
        super().__init__(data, url, filename, metadata)

    def _check_data(self) -> None:
        if isinstance(self.data, str):
            self.data = json.loads(self.data)
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError(f"{type(self).__name__} expects a dict or a list, not {self.data!r}")

    def _repr_json_(self) -> Any:
        return self.data, self.metadata


class GeoJSON(JSON):
    pass


class Javascript(TextDisplayObject):
    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, lib: Any = None,
        css: Any = None,
    ) -> None:  # fmt: skip
        self.lib = [lib] if isinstance(lib, str) else list(lib or ())
        self.css = [css] if isinstance(css, str) else list(css or ())
        super().__init__(data, url, filename)

    def _repr_javascript_(self) -> Any:
        return self.data


class Code(TextDisplayObject):
    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, language: Any = None
    ) -> None:
        self.language = language
        super().__init__(data, url, filename)

    def __repr__(self) -> str:
        return str(self.data)

    def _repr_html_(self) -> str:
        return f'<pre class="code"><code>{_escape(self.data)}</code></pre>'


class Image(DisplayObject):
    """PNG, JPEG or GIF. One that has only a URL is left to the page, unless `embed` says not."""

    _is_binary = True

    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, format: Any = None,
        embed: Optional[bool] = None, width: Any = None, height: Any = None, retina: bool = False,
        unconfined: bool = False, metadata: Any = None, alt: Any = None,
    ) -> None:  # fmt: skip
        if isinstance(data, str) and data.startswith("http") and url is None:
            data, url = None, data
        self.embed = embed if embed is not None else url is None
        self.width, self.height, self.alt = width, height, alt
        super().__init__(data, url, filename, metadata)
        self.format = (format or _format_of(self.data)).lower().replace("jpg", "jpeg")
        size = pictures.size_of(self.data, self.format) if retina and self.embed else None
        if size is not None:
            self.width, self.height = size[0] // 2, size[1] // 2

    def reload(self) -> None:
        if self.embed:
            super().reload()

    def _check_data(self) -> None:
        if self.embed and not isinstance(self.data, (bytes, bytearray)):
            raise TypeError("Image expects bytes, a file or a URL")

    def _repr_html_(self) -> Optional[str]:
        if self.embed:
            return None
        shape = _attributes(width=self.width, height=self.height, alt=self.alt)
        return f'<img src="{_escape(str(self.url))}"{shape}/>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not self.embed:
            return {}
        mime = f"image/{self.format}"
        known = {"width": self.width, "height": self.height, "alt": self.alt}
        shown = {name: value for name, value in known.items() if value is not None}
        return {mime: self.data}, {mime: shown} if shown else {}


def _format_of(data: Any) -> str:
    start = bytes(data[:4]) if isinstance(data, (bytes, bytearray)) else b""
    if start.startswith(b"\xff\xd8"):
        return "jpeg"
    return "gif" if start.startswith(b"GIF") else "png"


def _attributes(**values: Any) -> str:
    shown = [(name, value) for name, value in values.items() if value is not None]
    return "".join(f' {name}="{_escape(str(value))}"' for name, value in shown)


class Video(DisplayObject):
    _is_binary = True

    def __init__(
        self, data: Any = None, url: Any = None, filename: Any = None, embed: bool = False,
        mimetype: Any = None, width: Any = None, height: Any = None,
        html_attributes: str = "controls",
    ) -> None:  # fmt: skip
        self.embed, self.mimetype = embed, mimetype or "video/mp4"
        self.width, self.height, self.html_attributes = width, height, html_attributes
        if isinstance(data, str) and url is None and not embed:
            data, url = None, data
        super().__init__(data, url, filename)

    def reload(self) -> None:
        if self.embed or self.filename is not None:
            super().reload()

    def _repr_html_(self) -> str:
        source = str(self.url)
        if isinstance(self.data, (bytes, bytearray)):
            source = f"data:{self.mimetype};base64,{_base64(bytes(self.data))}"
        shape = _attributes(width=self.width, height=self.height)
        return f'<video src="{_escape(source)}" {self.html_attributes}{shape}></video>'


class Audio(DisplayObject):
    """A file's bytes, or numbers between -1 and 1 (larger ones are scaled) with their `rate`."""

    _is_binary = True

    def __init__(
        self, data: Any = None, filename: Any = None, url: Any = None, embed: Optional[bool] = None,
        rate: Any = None, autoplay: bool = False, normalize: bool = True, *, element_id: Any = None,
    ) -> None:  # fmt: skip
        self.embed = embed if embed is not None else url is None
        self.autoplay, self.element_id = autoplay, element_id
        super().__init__(data, url, filename)
        self.mimetype = "audio/wav"
        if self.filename is not None:
            import mimetypes

            self.mimetype = mimetypes.guess_type(self.filename)[0] or self.mimetype
        if self.data is not None and not isinstance(self.data, (bytes, str)):
            if rate is None:
                raise ValueError("rate must be specified when data is a list of samples")
            self.data = _wave_of(list(self.data), int(rate), normalize)

    def reload(self) -> None:
        if self.embed:
            super().reload()

    def _repr_html_(self) -> str:
        source = str(self.url)
        if isinstance(self.data, bytes):
            source = f"data:{self.mimetype};base64,{_base64(self.data)}"
        start = _attributes(id=self.element_id) + (" autoplay" if self.autoplay else "")
        kind = _attributes(type=self.mimetype)
        return f'<audio controls{start}><source src="{_escape(source)}"{kind}/></audio>'


def _wave_of(samples: Any, rate: int, is_scaled: bool) -> bytes:
    import array
    import io
    import wave

    values = [float(sample) for sample in samples]
    largest = max((abs(value) for value in values), default=0.0) if is_scaled else 1.0
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        scaled = (int(value / (largest or 1.0) * 32767) for value in values)
        file.writeframes(array.array("h", scaled).tobytes())
    return buffer.getvalue()


class IFrame:
    def __init__(
        self, src: str, width: Any, height: Any, extras: Any = None, **kwargs: Any
    ) -> None:
        self.src, self.width, self.height = src, width, height
        self.extras, self.params = list(extras or ()), kwargs

    def _repr_html_(self) -> str:
        source = str(self.src)
        if self.params:
            from urllib.parse import urlencode

            source += "?" + urlencode(self.params)
        shape = _attributes(width=self.width, height=self.height)
        extras = " ".join(str(extra) for extra in self.extras)
        src = _escape(source)
        return f'<iframe{shape} src="{src}" frameborder="0" allowfullscreen {extras}></iframe>'


class YouTubeVideo(IFrame):
    def __init__(
        self, id: str, width: Any = 400, height: Any = 300, allow_autoplay: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height, **kwargs)
        self.id = id


class FileLink:
    def __init__(self, path: Any, url_prefix: str = "", **kwargs: Any) -> None:
        self.path, self.url_prefix = os.fspath(path), url_prefix

    def __repr__(self) -> str:
        return os.path.abspath(self.path)

    def _repr_html_(self) -> str:
        target = _escape(self.url_prefix + self.path)
        return f"<a href='{target}' target='_blank'>{_escape(self.path)}</a><br>"


class ProgressBar(DisplayObject):
    def __init__(self, total: int) -> None:
        super().__init__()
        self.total = total
        self.progress = 0
        self.width = 60

    def __repr__(self) -> str:
        done = int(self.progress / self.total * self.width) if self.total else self.width
        return f"[{'=' * done}{' ' * (self.width - done)}] {self.progress}/{self.total}"

    def _repr_html_(self) -> str:
        return f"<progress max='{self.total}' value='{self.progress}'></progress>"


_KINDS = {
    "display_pretty": "text/plain", "display_html": "text/html", "display_png": "image/png",
    "display_markdown": "text/markdown", "display_svg": "image/svg+xml",
    "display_jpeg": "image/jpeg", "display_latex": "text/latex",
    "display_json": "application/json", "display_javascript": "application/javascript",
}  # fmt: skip


def _display_as(mime: str, display: Callable[..., Any]) -> Callable[..., None]:
    def display_as(*objs: Any, raw: bool = False, metadata: Any = None) -> None:
        """Show objects in this form only; with `raw` they are its data."""
        if raw:
            display(*[{mime: obj} for obj in objs], raw=True)
        else:
            display(*objs, include=[mime])

    return display_as


def _ignore(*args: Any, **kwargs: Any) -> None:
    """Figures are always images here."""


_CLASSES = (
    DisplayObject, TextDisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, JSON, GeoJSON,
    Javascript, Code, Image, Video, Audio, IFrame, YouTubeVideo, FileLink, ProgressBar,
)  # fmt: skip

for _class in _CLASSES:
    _class.__module__ = _PLACE


def names(display: Callable[..., Any]) -> Dict[str, Any]:
    """Those of the module."""
    found: Dict[str, Any] = {kind.__name__: kind for kind in _CLASSES}
    for name, mime in _KINDS.items():
        found[name] = _display_as(mime, display)
        found[name].__name__ = found[name].__qualname__ = name
        found[name].__module__ = _PLACE
    found["set_matplotlib_formats"] = found["set_matplotlib_close"] = _ignore
    return found
