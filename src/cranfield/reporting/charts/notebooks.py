"""How a chart is shown in a notebook: as a picture that is in the notebook, without a network."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from cranfield.base.errors import MissingDependencyError

Chart = TypeVar("Chart")


def offline(chart: Chart) -> Chart:
    """Make a chart show itself as SVG.

    Altair's own way asks a network for its scripts. Another way that its user has chosen, such as
    `altair.renderers.enable("jupyter")`, stands.
    """
    kind: Any = type(chart)
    # The class and not the object, so that it survives what is set later: Altair copies then.
    # What is set in the common way would become a part of the specification.
    object.__setattr__(chart, "__class__", _shown_offline(kind))
    return chart


@cache
def _shown_offline(kind: Any) -> Any:
    import altair as alt

    class Offline(kind):  # type: ignore[misc]
        def _repr_mimebundle_(self, *given: Any, **options: Any) -> Any:
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*given, **options)
            from cranfield.reporting.charts.saving import described, rendered

            try:
                picture = rendered(self, "svg").decode()
            except MissingDependencyError as error:
                return {"text/plain": f"{described(self)} ({error})"}
            return {"image/svg+xml": picture, "text/plain": described(self)}

    Offline.__name__, Offline.__qualname__ = kind.__name__, kind.__qualname__
    return Offline
