"""What W&B's Python client sends, byte for byte: JSON without a Content-Type, forms for files, no body with DELETE.

Its package cannot be installed everywhere, so this repeats the requests of its `RemoteHTTPTraceServer` with nothing but
the standard library. Run by weave.test.ts: an address, a key.
"""

import base64
import http.client
import json
import sys
import urllib.parse
import uuid

address, key = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2]
entity, project = "acme", "python"
project_id = f"{entity}/{project}"
common = {
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "User-Agent": "python-httpx/0.28.1",
    "Authorization": "Basic " + base64.b64encode(f"api:{key}".encode()).decode(),
}
checks = []


def check(function):
    checks.append(function)
    return function


def send(method, path, data=None, headers=None):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    # `http.client` adds no Content-Type, like httpx for bytes.
    connection.request(method, path, body=data, headers={**common, **(headers or {})})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def ask(method, path, body=None, **query):
    data = None if body is None else json.dumps(body).encode()
    url = path + ("?" + urllib.parse.urlencode(query) if query else "")
    status, content = send(method, url, data)
    assert status == 200, f"{method} {path}: {status} {content.decode()}"
    return content


def post(path, **body):
    return json.loads(ask("POST", path, body))


def lines(path, **body):
    return [json.loads(line) for line in ask("POST", path, body).decode().splitlines()]


def started(**fields):
    call_id = str(uuid.uuid4())
    start = {
        "project_id": project_id,
        "id": call_id,
        "op_name": f"weave:///{project_id}/op/calculate:v1",
        "display_name": None,
        "trace_id": call_id,
        "parent_id": None,
        "thread_id": None,
        "turn_id": None,
        "started_at": "2026-01-02T03:04:05.123456Z",
        "attributes": {"weave": {"client_version": "0.52.0"}},
        "inputs": {"a": 1},
        "otel_dump": None,
        "wb_user_id": None,
        "wb_run_id": None,
        "wb_run_step": None,
        **fields,
    }
    return call_id, start


def ended(call_id, **fields):
    return {
        "project_id": project_id,
        "id": call_id,
        "ended_at": "2026-01-02T03:04:06Z",
        "exception": None,
        "output": {"result": 2},
        "summary": {"usage": {"m": {"prompt_tokens": 10, "completion_tokens": 10, "requests": 1}}},
        "wb_run_step_end": None,
        **fields,
    }


@check
def greeting():
    info = json.loads(ask("GET", "/server_info"))
    assert info["min_required_weave_python_version"] and info["trace_server_version"], info


@check
def batch_of_starts_and_ends():
    call_id, start = started()
    end = {"mode": "end", "req": {"end": ended(call_id)}}
    post("/call/upsert_batch", batch=[{"mode": "start", "req": {"start": start}}, end])
    call = post("/call/read", project_id=project_id, id=call_id, include_costs=False)["call"]
    assert call["inputs"] == {"a": 1} and call["output"] == {"result": 2}, call


@check
def complete_calls():
    call_id, start = started()
    post(f"/v2/{entity}/{project}/calls/complete", batch=[{**start, **ended(call_id)}])
    eager, start = started()
    post(f"/v2/{entity}/{project}/call/start", start=start)
    post(f"/v2/{entity}/{project}/call/end", end={**ended(eager), "started_at": start["started_at"]})
    ids = [call["id"] for call in lines("/calls/stream_query", project_id=project_id, columns=["id"])]
    assert call_id in ids and eager in ids, ids


@check
def columns():
    call_id, start = started(display_name="shown")
    post(f"/v2/{entity}/{project}/calls/complete", batch=[{**start, **ended(call_id)}])

    def only(columns, **body):
        body = {"project_id": project_id, "filter": {"call_ids": [call_id]}, "columns": columns, **body}
        (call,) = lines("/calls/stream_query", **body)
        assert post("/calls/query", **body) == {"calls": [call]}
        return call

    call = only(["id", "inputs"])
    assert call["inputs"] == {"a": 1} and call["attributes"] == {}, call
    assert [call[name] for name in ("output", "ended_at", "display_name", "wb_user_id")] == [None] * 4, call
    assert call["started_at"] and call["op_name"] and call["trace_id"] == call_id, call
    call = only(["id", "summary"])
    assert call["ended_at"] and call["display_name"] == "shown", call
    assert call["summary"]["weave"]["status"] == "success", call
    assert only(["id", "output_dump"])["output"] == {"result": 2}

    price = {"prompt_token_cost": 0.00001, "completion_token_cost": 0.00003, "provider_id": "p"}
    created = post("/cost/create", project_id=project_id, costs={"m": price}, wb_user_id=None)
    for names in (["id", "summary"], ["id", "summary_dump"], ["id"]):
        costs = only(names, include_costs=True)["summary"]["weave"]["costs"]
        assert costs["m"]["prompt_tokens"] == 10, costs
    assert "costs" not in only(["id", "summary"])["summary"]["weave"]

    def where(field):
        expression = {"$eq": [{"$getField": field}, {"$literal": created["ids"][0][0] if field == "id" else "m"}]}
        return json.dumps({"project_id": project_id, "query": {"$expr": expression}}).encode()

    status, content = send("POST", "/cost/purge", where("llm_id"))
    assert status == 400 and "reason" in json.loads(content), content
    assert send("POST", "/cost/purge", where("id")) == (200, b"{}")
    assert post("/cost/query", project_id=project_id)["results"] == []


@check
def keys_in_references():
    keys = ["a:b", "100%", "50%25", "a/b", "a b+c", "é", "n-a_m.e: /+_(){}|\"'<>!@$^&*#:,.[]-=;~`%"]
    values = {name: index for index, name in enumerate(keys)}
    created = post("/obj/create", obj={"project_id": project_id, "object_id": "o", "val": {"val": values}})
    base = f"weave:///{project_id}/object/o:{created['digest']}/attr/val/key/"
    refs = [base + urllib.parse.quote(name, safe="") for name in keys]
    assert post("/refs/read_batch", refs=refs)["vals"] == list(values.values())


@check
def files():
    boundary = uuid.uuid4().hex
    part = 'Content-Disposition: form-data; name="'
    form = (
        f'--{boundary}\r\n{part}project_id"\r\n\r\n{project_id}\r\n'
        f'--{boundary}\r\n{part}file"; filename="obj.py"\r\n\r\nprint(1)\r\n--{boundary}--\r\n'
    ).encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    status, content = send("POST", "/files/create", form, kind)
    assert status == 200, content
    body = json.dumps({"project_id": project_id, "digest": json.loads(content)["digest"]}).encode()
    assert send("POST", "/files/content", body, {"Content-Type": "application/json"}) == (200, b"print(1)")


@check
def feedback_and_queues():
    call_id, start = started()
    post("/call/start", start=start)
    reaction = {
        "project_id": project_id,
        "weave_ref": f"weave:///{project_id}/call/{call_id}",
        "creator": None,
        "feedback_type": "wandb.reaction.1",
        "payload": {"emoji": "👍"},
        "wb_user_id": None,
    }
    assert len(post("/feedback/batch/create", batch=[reaction])["res"]) == 1
    queue = post("/annotation_queues", project_id=project_id, name="q", description="", scorer_refs=[])["id"]
    path = f"/annotation_queues/{queue}"
    added = post(f"{path}/items", project_id=project_id, call_ids=[call_id], display_fields=[])
    assert added["added_count"] == 1, added
    ask("PUT", path, {"project_id": project_id, "name": "r", "description": None, "scorer_refs": None})
    assert json.loads(ask("GET", path, project_id=project_id))["queue"]["name"] == "r"
    ask("DELETE", path, project_id=project_id)
    assert post("/calls/delete", project_id=project_id, call_ids=[call_id])["num_deleted"] == 1


for one in checks:
    one()
    print(one.__name__)
