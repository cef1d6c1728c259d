"""The service and the page, which both work with a `state`.

`service` is the app; `question_routes` and `ledger_routes` are its routes, `bodies` what they
accept and return, `questions` what they put to the model, `problems` what may be wrong, `openapi`
how it is described · `auth`, `body_limit` and `metrics` stand before it · `serving` starts it.
"""

from importlib.util import find_spec

from trust_recourse.io.extras import absent

for _name in ("fastapi", "fastapi_offline", "prometheus_client", "uvicorn"):
    if find_spec(_name) is None:
        raise ModuleNotFoundError(absent("the service", _name, "web"), name=_name)
