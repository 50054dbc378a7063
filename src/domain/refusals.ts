/**
 * Every way in which a request is refused: code, status, message. `docs/errors.md` is generated from this list.
 * A message names the field, what was given and what would be accepted. `{…}` is filled in by `refuse`, `{"…"}` as JSON.
 */
export const refusals = {
  not_authenticated: {
    status: 401,
    message:
      'This server needs credentials: Basic with user name "api" and a key as password, Bearer with a key, or a key in x-api-key or api-key.',
    help: 'Send a key: as Bearer, as the password of Basic with user name "api", or in x-api-key or api-key.',
  },
  wrong_credentials: {
    status: 401,
    message:
      'These credentials are not accepted: the user name and the key do not belong together, or the key is unknown or revoked.',
    help: 'User name and key do not belong together, or the key is unknown or revoked.',
  },
  malformed_credentials: {
    status: 401,
    message: 'The Authorization header cannot be read: {why}.',
    help: 'Basic needs base64 of name:key (RFC 7617), Bearer a token (RFC 6750).',
  },
  too_many_wrong_keys: {
    status: 429,
    message: 'Too many wrong keys came from your address. Try again in {seconds} s, or send a valid key now.',
    help: 'HEDDLE_WRONG_KEYS sets how many are answered in a minute (docs/security.md).',
  },
  rate_limit_exceeded: {
    status: 429,
    message: 'The user {user} is limited to {limit} {what}. Try again in {seconds} s.',
    help: '`heddle user set` sets the limits of a user; the headers `x-ratelimit-…` report what is left.',
  },
  budget_exceeded: {
    status: 429,
    message:
      'This answer may cost {cost} {currency}, but the budget of {subject} has {left} of {amount} left for this {window}. It opens again at {opens}.',
    help: 'What an answer may cost is reserved until it ends: a lower `max_tokens` reserves less. `GET /budgets` shows what is spent.',
  },
  model_unpriced: {
    status: 403,
    message:
      'model: the budget of {subject} allows only models with a price in {currency}, and {model} has none.',
    help: '`POST /cost/create` sets prices; without `block_unpriced` such a model is free.',
  },
  budget_exists: {
    status: 409,
    message: 'scope: there is already a budget of {subject} for each {window} in {currency}.',
    help: '`PUT /budgets/{id}` changes it.',
  },
  budget_not_found: {
    status: 404,
    message: 'id: there is no budget {id} that you may change.',
    help: '`GET /budgets` lists them.',
  },
  too_many_budgets: {
    status: 409,
    message: 'There are already {limit} budgets, which is the maximum: delete those that are not needed.',
    help: '`DELETE /budgets/{id}` deletes one.',
  },
  too_many_streams: {
    status: 429,
    message: 'The user {user} already has {limit} event streams open; close one of them.',
    help: 'Close one; several pages or programs can share a stream.',
  },
  too_many_exports: {
    status: 429,
    message: 'The user {user} already has {limit} exports running: read one to its end, or close it.',
    help: 'Read one to its end, or close it.',
  },
  entity_forbidden: {
    status: 403,
    message: 'Your key has no access to the entity of {field}: {"received"}.',
    help: 'Your key has no access to the entity, whether the project exists or not. `heddle user add` and HEDDLE_USERS set the entities.',
  },
  session_ended: {
    status: 401,
    message: 'This session of the page has ended: sign in again.',
    help: 'It ends 12 hours after its last use, when its user signs out, or with its key. The cookie alone is none.',
  },
  wrong_logout_token: {
    status: 400,
    message: 'logout_token: not accepted: {why}.',
    help: 'No session has ended.',
  },
  sign_in_failed: {
    status: 400,
    message: 'The sign-in with {issuer} did not succeed: {why}. Start it again.',
    help: 'A sign-in belongs to one browser and ends after ten minutes.',
  },
  sign_in_forbidden: {
    status: 403,
    message: '{issuer} knows you, but you may not sign in here: {why}.',
    help: 'The issuer knows you, but you may not sign in here; the audit log has its claims.',
  },
  provider_unavailable: {
    status: 503,
    message: '{issuer} cannot be asked who you are: {why}. Try again later.',
    help: 'The issuer cannot be asked who you are. Sessions and keys go on working.',
  },
  wrong_token: {
    status: 401,
    message: 'The token is not accepted: {why}.',
    help: 'Accepted: access tokens of an issuer with an `audience` (docs/sign-in.md).',
  },
  key_sign_in_off: {
    status: 403,
    message: 'key: this page accepts no keys; sign in with one of its issuers.',
    help: 'HEDDLE_KEY_SIGN_IN is off: sign in with an issuer.',
  },
  page_cross_site: {
    status: 403,
    message:
      'A session of the page can be used only by the page itself, but this request comes from another site.',
    help: 'Only the page itself can use its session. Programs send their key.',
  },
  origin_forbidden: {
    status: 403,
    message: 'Pages of {"origin"} may not send requests here.',
    help: 'HEDDLE_CORS_ORIGINS lists those that may.',
  },
  role_forbidden: {
    status: 403,
    message: 'This needs the role {role} ({operation}); your role is {received}.',
    help: 'Who may do what: [roles](roles.md). `operate` needs an admin of everything.',
  },
  scope_forbidden: {
    status: 403,
    message: 'This needs a key with the scope {scope}; yours has {scopes}.',
    help: 'The scopes of a key are set when it is made.',
  },
  user_not_found: {
    status: 404,
    message: '{field}: there is no user {name}.',
    help: '`GET /users` lists them for admins.',
  },
  user_exists: {
    status: 409,
    message: 'name: there is already a user {name}.',
    help: 'Also in HEDDLE_USERS. `POST /keys` makes another key for a user.',
  },
  user_name_used: {
    status: 409,
    message: 'name: {name} was a user who was removed; choose another name.',
    help: 'What such a user left is not for whoever accepts an invitation. `POST /users` may give the name again.',
  },
  user_configured: {
    status: 409,
    message: 'The user {name} is set in HEDDLE_USERS: change its key or remove it there.',
    help: 'The user is set in HEDDLE_USERS: change its key or remove it there.',
  },
  own_user_stays: {
    status: 409,
    message: 'name: {name} is you. Another admin can remove or change you; accepted: another user.',
    help: 'Nobody removes or raises themselves. Another admin can.',
  },
  last_admin: {
    status: 409,
    message: 'name: {name} is the last admin. Make another user an admin of * first.',
    help: 'Somebody has to operate the server. `heddle user remove` removes even the last admin.',
  },
  invitation_not_found: {
    status: 404,
    message: 'There is no such invitation: it was accepted or withdrawn, or it has expired.',
    help: 'Accepted, withdrawn, expired, or who made it may no longer invite.',
  },
  too_many_invitations: {
    status: 409,
    message: 'The user {name} already has {limit} open invitations, which is the maximum: withdraw some.',
    help: '`DELETE /invitations/{id}` withdraws one. Only open ones count.',
  },
  key_outlives: {
    status: 403,
    message: 'expires_at: your key expires, and gives nothing that lasts longer.',
    help: 'A key that expires gives nothing that lasts longer.',
  },
  key_not_found: {
    status: 404,
    message: 'id: there is no key {id} that you may revoke, or it is already revoked.',
    help: 'Or it is already revoked. Admins may revoke the keys of all users.',
  },
  too_many_keys: {
    status: 409,
    message:
      'The user {name} already has {limit} keys, which is the maximum: revoke those that are not used.',
    help: 'Revoke those that are not used.',
  },
  route_not_found: {
    status: 404,
    message: 'There is no route {method} {path}. {hint}.',
    help: 'The path is wrong, the base URL lacks /v1 or has it twice, or the route is of a newer version.',
  },
  call_not_found: {
    status: 404,
    message: '{field}: there is no call {"id"} in project {"project"}.',
    help: 'Or it was never started.',
  },
  object_not_found: {
    status: 404,
    message: '{field}: there is no object {"name"} with version {"version"} in project {"project"}.',
    help: 'A version is a digest, `latest`, `v` and a number, or an alias.',
  },
  object_deleted: {
    status: 404,
    message: '{field}: the version {"version"} of object {"name"} in project {"project"} was deleted.',
    help: 'Creating the same value again brings it back.',
  },
  label_gated: {
    status: 409,
    message: '{field}: the label {"label"} of object {"name"} has a gate; accepted: a move through it.',
    help: 'POST /objs/{name}/aliases/{alias}/move moves it (docs/prompts.md).',
  },
  gate_not_passed: {
    status: 409,
    message: '{field}: version {"version"} does not pass the gate of label {"label"}: {why}.',
    help: 'An admin can override the gate (docs/prompts.md).',
  },
  label_moved: {
    status: 409,
    message: '{field}: the label {"label"} names version {version} by now; nothing was moved.',
    help: 'Another request moved it or changed its gate.',
  },
  prompt_unusable: {
    status: 400,
    message: '{field}: the object {"name"} with digest {digest} cannot be used as a prompt: {why}.',
    help: 'See docs/prompts.md.',
  },
  row_not_found: {
    status: 404,
    message: '{field}: there is no table row {"digest"} in project {"project"}.',
    help: 'No table of the project has such a row.',
  },
  table_not_found: {
    status: 404,
    message: '{field}: there is no table {"digest"} in project {"project"}.',
    help: 'A project can read only its own tables.',
  },
  file_not_found: {
    status: 404,
    message: 'digest: there is no file {"digest"} in project {"project"}.',
    help: 'A project can read only the files that were stored in it.',
  },
  wire_file_not_found: {
    status: 404,
    message: '{field}: you have no file {"id"}.',
    help: '`GET /v1/files` lists yours.',
  },
  wire_file_in_use: {
    status: 409,
    message: '{field}: batch {batch} still reads this file.',
    help: 'A batch still reads the file. Wait, or cancel it.',
  },
  batch_not_found: {
    status: 404,
    message: '{field}: you have no batch {"id"}.',
    help: '`GET /v1/batches` and `GET /v1/messages/batches` list yours.',
  },
  batch_ended: {
    status: 409,
    message: 'batch_id: batch {id} is {status}.',
    help: 'A batch that is over cannot be cancelled.',
  },
  erasure_ended: {
    status: 409,
    message: 'Another request has ended the erasure {id} meanwhile.',
    help: 'Ask again: what is left is erased.',
  },
  message_batch_status: {
    status: 400,
    message: 'message_batch_id: batch {"id"} is {status}; accepted: {accepted}.',
    help: 'A batch is cancelled before it has ended; it has results, and can be deleted, after that.',
  },
  batch_needs_key: {
    status: 403,
    message: 'What is answered in the background is asked with your key, and this request has none.',
    help: 'Tokens of identity providers end too early to be asked with in the background.',
  },
  too_many_waiting: {
    status: 409,
    message:
      'background: you already have {limit} responses that wait, or {bytes} bytes of them; accepted: false.',
    help: 'Wait, or cancel some.',
  },
  too_many_batches: {
    status: 409,
    message: 'You already have {limit} batches that are not over.',
    help: 'Wait, or cancel some.',
  },
  digest_differs: {
    status: 409,
    message: '{field}: {"received"} was expected, but the digest is {digest}. Nothing was stored.',
    help: 'The value was changed on the way.',
  },
  object_changed: {
    status: 409,
    message:
      '{field}: {received} was expected to be the latest version, which is {latest}. Nothing was stored.',
    help: 'Read its latest version and change that one.',
  },
  class_conflict: {
    status: 400,
    message:
      '{field}: {"received"} holds objects of class {held}; accepted: objects of that class, not of {class}.',
    help: 'A name keeps the base class of its first version. Use another name, or delete its versions.',
  },
  feedback_conflict: {
    status: 409,
    message:
      '{field}: the feedback {"received"} already exists in project {"project"}, with different content.',
    help: 'The id exists with other content. Leave it out, use another, or use /feedback/replace.',
  },
  feedback_of_other_user: {
    status: 409,
    message:
      '{field}: the same feedback {"received"} already exists in project {"project"}, from the user {"user"}.',
    help: 'Leave the id out, or use another.',
  },
  invalid_payload: {
    status: 400,
    message: '{field}: {received}; feedback of type {"type"} accepts {accepted}.',
    help: 'See docs/feedback.md for the payloads of each kind.',
  },
  payload_too_large: {
    status: 400,
    message: '{field}: as JSON in ASCII it has more than {limit} characters.',
    help: 'Characters outside ASCII count as their escapes. Store large things as a file or a call.',
  },
  invalid_annotation_spec: {
    status: 400,
    message: '{field}: {"received"} is not an annotation spec: {why}.',
    help: 'Its field_schema must be a JSON Schema of draft 2020-12 or draft-07 that refers to nothing outside itself.',
  },
  annotation_mismatch: {
    status: 400,
    message: '{field}: {received}; the annotation spec {spec} says: {why}.',
    help: 'It must fit the field_schema of its spec.',
  },
  annotation_too_costly: {
    status: 400,
    message: '{field}: checking it against the annotation spec {spec} takes more than {limit}.',
    help: 'Nested repetitions, or branches that double at each level. Simplify the field_schema.',
  },
  answer_too_large: {
    status: 413,
    message: '{field}: the answer would take more than {limit} bytes. Ask for fewer at once.',
    help: 'Ask for fewer at once.',
  },
  project_not_found: {
    status: 404,
    message: 'path: there is nothing in project {"project"}.',
    help: 'The first write creates a project; deleting it leaves nothing.',
  },
  annotation_queue_not_found: {
    status: 404,
    message: '{field}: there is no annotation queue {"queue"} in project {"project"}.',
    help: '`POST /annotation_queues/query` lists them.',
  },
  alert_rule_not_found: {
    status: 404,
    message: '{field}: there is no alert rule {"rule"} in project {"project"}.',
    help: '`GET /alert_rules` lists them.',
  },
  alert_endpoint_not_found: {
    status: 404,
    message: '{field}: there is no alert endpoint {"endpoint"} in project {"project"}.',
    help: '`GET /alert_endpoints` lists them.',
  },
  too_many_alert_things: {
    status: 409,
    message: 'Project {"project"} already has {limit} {what}.',
    help: 'Delete some, or put several conditions into one rule.',
  },
  monitor_not_found: {
    status: 404,
    message: '{field}: there is no monitor {"monitor"} in project {"project"}.',
    help: '`POST /monitors/query` lists them.',
  },
  monitor_run_not_found: {
    status: 404,
    message: '{field}: there is no run {"run"} of monitor {"monitor"} in project {"project"}.',
    help: '`POST /monitors/{monitor_id}/run` makes one.',
  },
  monitor_run_going: {
    status: 409,
    message: '{field}: the monitor {"monitor"} is already going over old calls, in its run {"run"}.',
    help: 'Wait, or cancel that run.',
  },
  scorer_not_runnable: {
    status: 400,
    message: '{field}: the scorer {"received"} cannot be run by this server: {why}.',
    help: 'A monitor runs scorers with a judge or a check (docs/judges.md).',
  },
  too_many_served_runs: {
    status: 409,
    message: 'Project {"project"} already has {limit} evaluation runs that the server carries out.',
    help: 'Wait until some are done, or stop some.',
  },
  queue_item_not_found: {
    status: 404,
    message: '{field}: there is no item {"item"} in annotation queue {"queue"}.',
    help: '`POST /annotation_queues/{queue_id}/items/query` lists them.',
  },
  queue_rule_not_found: {
    status: 404,
    message: '{field}: there is no rule {"rule"} of annotation queue {"queue"}.',
    help: '`GET /annotation_queues/{queue_id}/rules` lists them.',
  },
  too_many_queue_rules: {
    status: 409,
    message:
      'The project {"project"} already has {limit} rules for its annotation queues, which is the maximum.',
    help: 'Paused rules count too. Delete one, or add ops or models to one.',
  },
  annotation_state_conflict: {
    status: 409,
    message: '{field}: {received} cannot follow your state {state}; accepted after it: {accepted}.',
    help: 'See docs/queues.md for the states.',
  },
  not_a_reviewer: {
    status: 403,
    message: 'You, {"user"}, are not among the reviewers of annotation queue {"queue"}.',
    help: 'An editor sets `reviewers`, with `PUT /annotation_queues/{queue_id}`.',
  },
  item_not_disputed: {
    status: 409,
    message:
      '{field}: the review of item {"item"} is {outcome}: there is nothing for an adjudicator to decide.',
    help: 'An adjudicator decides once the reviewers have finished an item and, unless adjudication is always, disagree.',
  },
  queue_in_review: {
    status: 409,
    message: '{field} of annotation queue {"queue"} cannot change: answers have been compared by it.',
    help: 'Create another queue.',
  },
  evaluation_run_not_found: {
    status: 404,
    message: '{field}: there is no evaluation run {"run"} in project {"project"}.',
    help: 'POST /v2/{entity}/{project}/evaluation_runs makes one.',
  },
  prediction_not_found: {
    status: 404,
    message: '{field}: there is no prediction {"prediction"} in project {"project"}.',
    help: 'POST /v2/{entity}/{project}/predictions makes one.',
  },
  score_not_found: {
    status: 404,
    message: '{field}: there is no score {"score"} in project {"project"}.',
    help: 'POST /v2/{entity}/{project}/scores makes one.',
  },
  call_conflict: {
    status: 409,
    message: '{field}: the call {"received"} already exists in project {"project"}, with different content.',
    help: 'The id exists with other content, or its call was deleted. Leave the id out, or use another.',
  },
  evaluation_run_ended: {
    status: 409,
    message: '{field}: the evaluation run {"run"} has already ended, {how}.',
    help: 'Only the same summary is accepted again.',
  },
  evaluation_run_not_resumable: {
    status: 409,
    message: '{field}: the evaluation run {"run"} cannot be resumed: {why}.',
    help: 'A run of the server goes on if it was stopped, or if rows of it failed (docs/evaluation-runs.md).',
  },
  schema_unsupported: {
    status: 400,
    message: '{field}: the keyword {keyword} at {path} cannot be enforced: {why}.',
    help: 'See docs/structured-output.md for the keywords.',
  },
  schema_invalid: {
    status: 400,
    message: '{field}: the keyword {keyword} at {path} is wrong: {why}.',
    help: 'See docs/structured-output.md for the keywords of drafts 3 to 2020-12.',
  },
  constraint_invalid: {
    status: 400,
    message: '{field}: it cannot be read: {why}.',
    help: 'The regular expression, choice, grammar or structural tag is wrong in itself.',
  },
  constraint_unsupported: {
    status: 400,
    message: '{field}: it cannot be enforced: {why}.',
    help: 'See docs/structured-output.md.',
  },
  constraint_too_large: {
    status: 400,
    message: '{field}: it is too large or too complex: {why}.',
    help: 'Simplify branches that multiply, long counted repetitions and large patterns.',
  },
  constraint_impossible: {
    status: 400,
    message: '{field}: nothing fits it: {why}.',
    help: 'Its parts contradict each other, or allow no answer that ends.',
  },
  whitespace_unsupported: {
    status: 400,
    message:
      '{field}: whitespace_pattern {received} cannot be used: {why}; accepted: a regular expression of JSON white space.',
    help: 'White space in JSON is spaces, tabs and line breaks.',
  },
  continued_text_unfit: {
    status: 400,
    message:
      '{field}: the answer continues it, and the two together must fit {constraint}: {received} at character {at}; accepted there: {accepted}.',
    help: 'A constraint applies to the last message and the answer together. Leave that message out, or let it begin a text that fits.',
  },
  no_token_possible: {
    status: 400,
    message: '{fields}: together they leave no token that could follow after {tokens} tokens of the answer.',
    help: 'Allow more tokens, ban fewer words, or let the answer end: a token that ends it must be among allowed_token_ids.',
  },
  method_not_allowed: {
    status: 405,
    message: '{method} is not offered at {path}; accepted: {allowed}.',
    help: 'The Allow header lists the methods.',
  },
  body_too_large: {
    status: 413,
    message: 'The body is larger than {limit} bytes; send less at once.',
    help: 'HEDDLE_BODY_LIMIT raises the limit of routes that write values; others accept at most 4 MiB.',
  },
  body_too_deep: {
    status: 413,
    message: 'The body is nested deeper than {limit} levels.',
    help: 'The bound protects every part of the server that walks a value.',
  },
  body_too_costly: {
    status: 413,
    message: 'The body takes more than {limit} to read.',
    help: 'Its values take far more memory than its text. Send several requests.',
  },
  too_many_ids: {
    status: 413,
    message: '{field}: {received} entries; at most {limit} are accepted in one request.',
    help: 'Send several requests.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Content-Type {"received"} is not accepted here; accepted: {accepted}.',
    help: 'Bodies are JSON, files forms. Outside /v1 a body without a Content-Type is JSON, unless a page in a browser sends it.',
  },
  unsupported_encoding: {
    status: 415,
    message: 'Content-Encoding {"received"} is not accepted here; accepted: {accepted}.',
    help: 'Only the routes of OpenTelemetry accept gzip and deflate.',
  },
  malformed_encoding: {
    status: 400,
    message: 'The body cannot be decompressed from {encoding}: {why}.',
    help: 'The body is cut off, or compressed in another way than Content-Encoding says.',
  },
  malformed_protobuf: {
    status: 400,
    message: 'The body is not an OTLP export in protobuf: {why}.',
    help: 'The OTLP export is cut off, or not what its Content-Type says.',
  },
  malformed_http: {
    status: 400,
    message: 'This is not an HTTP/1.1 request: {why}.',
    help: 'TLS sent to the plain port, or a proxy in between. The connection is closed.',
  },
  request_too_slow: {
    status: 408,
    message: 'The request did not arrive in time. The connection is closed.',
    help: 'HEDDLE_HEADERS_TIMEOUT and HEDDLE_REQUEST_TIMEOUT raise the limits. Below 16 KiB a second a body may lose its memory to others.',
  },
  unknown_expectation: {
    status: 417,
    message: 'Expect {"received"} is not understood; accepted: 100-continue.',
    help: 'The Expect header asks for something else.',
  },
  headers_too_large: {
    status: 431,
    message: 'The address and the headers are larger than {limit} bytes together. The connection is closed.',
    help: 'Node bounds address and headers together (`--max-http-header-size`). The connection is closed.',
  },
  malformed_json: {
    status: 400,
    message: 'The body is not JSON: {why}.',
    help: 'Perhaps empty, cut off, or not UTF-8.',
  },
  malformed_form: {
    status: 400,
    message: 'The body is not multipart/form-data: {why}.',
    help: 'The form is cut off, or lacks the boundary that its Content-Type names.',
  },
  file_too_large: {
    status: 413,
    message: 'file: it is larger than {limit} bytes.',
    help: 'HEDDLE_FILE_LIMIT raises the limit.',
  },
  too_many_rows: {
    status: 413,
    message: '{field}: {received} rows; at most {limit} are accepted.',
    help: 'Split the table.',
  },
  invalid_request: {
    status: 422,
    message: 'The {origin} does not fit the schema: {what}.',
    help: 'A wrong type, a missing field, or a value out of range; `detail` lists up to 100 paths. Under /v1 the status is 400.',
  },
  invalid_value: {
    status: 400,
    message: '{field}: {received}; accepted: {accepted}.',
    help: 'It is well-formed, but not accepted by this operation.',
  },
  invalid_expression: {
    status: 422,
    message: '{field}: {why}; accepted: {accepted}.',
    help: 'An unknown operator, or one with the wrong operands (docs/queries.md).',
  },
  unknown_field: {
    status: 422,
    message: '{field}: there is no field {received}; accepted: {accepted}.',
    help: 'A query, a sort or a list of columns names it.',
  },
  too_busy: {
    status: 503,
    message: 'The server is overloaded; try again shortly.',
    help: 'The event loop is late, or a thread did not start in time.',
  },
  queue_full: {
    status: 429,
    message: 'Too many requests of this kind are waiting; try again shortly.',
    help: 'Too many requests of this kind are waiting.',
  },
  stopping: {
    status: 503,
    message: 'The server is stopping.',
    help: 'Also sent in place of the rest of answers that are not finished after HEDDLE_GRACE.',
  },
  model_not_found: {
    status: 404,
    message: 'model: the model {model} does not exist; accepted: {accepted}.',
    help: 'GET /v1/models lists the served names. Without `model` the default one answers.',
  },
  model_lacks: {
    status: 400,
    message: 'model: the model {model} {why}; accepted: {accepted}.',
    help: 'GET /v1/models lists what each model can do.',
  },
  model_not_ready: {
    status: 503,
    message: 'The model is not ready: {why}.',
    help: 'It is being loaded, cannot be loaded, or HEDDLE_MODEL is `none`: GET /ready says which.',
  },
  completion_not_found: {
    status: 404,
    message: "Chat completion with id '{id}' not found.",
    help: 'Or not recorded, or not completed. The project is that of `x-heddle-project`, or your default one.',
  },
  response_not_found: {
    status: 404,
    message: "Response with id '{id}' not found.",
    help: 'Or made with `"store": false`, or not completed (docs/responses.md).',
  },
  recording_off: {
    status: 400,
    message: '{field}: {received}, but {why}, so no answer is recorded; accepted: null, or no value.',
    help: 'HEDDLE_RECORD, x-heddle-record or a setting of the key keeps answers out of the record.',
  },
  parent_not_found: {
    status: 404,
    message:
      '{field}: there is no call {"id"} in project {"project"}. A parent that is not written yet is accepted together with its trace, in the header {trace}.',
    help: 'Or it was never started. The header x-heddle-project names the project.',
  },
  previous_response_not_found: {
    status: 400,
    message: "Previous response with id '{id}' not found.",
    help: 'It, or one that it continues, is unknown, deleted, expired, not stored or of another user. Send the whole conversation as `input`.',
  },
  response_item_not_found: {
    status: 404,
    message: "{field}: Item with id '{id}' not found. Items of answers made with `store` false are not kept.",
    help: 'Items of answers that were not stored are not kept: send the item itself.',
  },
  response_exists: {
    status: 409,
    message: "{field}: there is a response with id '{id}' already.",
    help: 'Leave `request_id` out, or use another.',
  },
  conversation_not_found: {
    status: 404,
    message: "{field}: Conversation with id '{id}' not found.",
    help: 'Or in a project that you have no access to any more.',
  },
  conversation_item_not_found: {
    status: 404,
    message: "{field}: Item with id '{id}' not found in the conversation '{conversation}'.",
    help: '`GET /v1/conversations/{conversation_id}/items` lists them.',
  },
  conversation_full: {
    status: 400,
    message: "{field}: the conversation '{id}' has no room for these items; it holds at most {limit}.",
    help: 'Delete some of its items, or begin another.',
  },
  too_many_conversations: {
    status: 409,
    message:
      'You already have {limit} conversations, which is the maximum: delete those that are not needed.',
    help: '`DELETE /v1/conversations/{conversation_id}` deletes one.',
  },
  response_not_in_background: {
    status: 400,
    message: "Cannot cancel a response that has ended, or that does not run in the background: '{id}'.",
    help: 'It has ended, or closing its connection ends it.',
  },
  invalid_encrypted_content: {
    status: 400,
    message:
      '{field}: the encrypted content could not be verified; accepted: what this server gave the same user.',
    help: 'Changed, or of another server or user. Leave the reasoning item out.',
  },
  models_chosen: {
    status: 403,
    message: '{what}: the operator of this server chooses its models (HEDDLE_MODEL).',
    help: 'The operator chooses the models (HEDDLE_MODEL); `GET /api/tags` lists them.',
  },
  not_available: {
    status: 400,
    message: '{field}: {received} is not available in this version; accepted: {accepted}.',
    help: 'The field is known. docs/chat-parameters.md lists what works.',
  },
  thread_unsupported_request: {
    status: 400,
    message:
      '{field}: {received} is not available in this version; accepted: null, and the whole conversation in messages.',
    help: 'The tool runner of Anthropic’s SDK then sends the whole conversation.',
  },
  priority_off: {
    status: 400,
    message: 'priority: {received} needs priority scheduling, which is switched off; accepted: 0.',
    help: 'HEDDLE_PRIORITY=on allows it.',
  },
  tool_choice_off: {
    status: 400,
    message:
      '{field}: {received}, but tool calls are switched off on this server; accepted: "none", or no value.',
    help: 'HEDDLE_TOOL_CHOICE=auto lets models call tools.',
  },
  request_templates_off: {
    status: 400,
    message: '{field}: templates in requests are switched off on this server; accepted: none.',
    help: 'HEDDLE_REQUEST_TEMPLATES=on accepts them.',
  },
  no_chat_template: {
    status: 400,
    message:
      'chat_template: the model has no chat template of its own, and the request has none; accepted: a template such as {"example"}, or POST /v1/completions with a finished prompt.',
    help: 'The model has no template of its own. Send a `chat_template`, which HEDDLE_REQUEST_TEMPLATES=off refuses, or a finished prompt to `POST /v1/completions`.',
  },
  template_failed: {
    status: 400,
    message: '{field}: the template cannot be rendered with these messages: {why}.',
    help: 'The message has the template’s own words.',
  },
  template_too_costly: {
    status: 400,
    message: '{field}: rendering the template takes more than {limit}.',
    help: 'Rendering is limited to one second, and its texts and lists in size.',
  },
  saved_view_not_found: {
    status: 404,
    message: '{field}: there is no saved view {"view"} in project {"project"} that you may see.',
    help: 'Or private to another user.',
  },
  saved_view_of_other: {
    status: 403,
    message: '{field}: the saved view {"view"} belongs to {"user"}, who shares it; only they can change it.',
    help: 'Save it as a view of your own.',
  },
  saved_view_exists: {
    status: 409,
    message: '{field}: you already have a view {"received"} of this screen: {"view"}.',
    help: 'PUT /views/saved/{id} replaces what it shows.',
  },
  too_many_saved_views: {
    status: 409,
    message: 'You already have {limit} saved views in project {"project"}, which is the maximum.',
    help: 'Delete some.',
  },
  search_off: {
    status: 400,
    message:
      'This server keeps no index of words, so /views/search has nothing to search. $contains in a query reads the calls themselves.',
    help: 'HEDDLE_SEARCH=on keeps an index of words. Without it, use $contains.',
  },
  query_too_slow: {
    status: 504,
    message:
      'The query was stopped after {limit} ms without rows, or without a reader for them. Narrow it with a filter or a limit.',
    help: 'Narrow the query with a filter or a limit, or raise HEDDLE_QUERY_TIMEOUT.',
  },
  row_too_large: {
    status: 413,
    message:
      'A row of {received} characters is too large to be evaluated by this query; accepted: at most {limit}. Leave it out by id, time or op.',
    help: 'Leave the row out by id, time or op: it needs a larger HEDDLE_BODY_LIMIT.',
  },
  context_length_exceeded: {
    status: 400,
    message:
      "This model's maximum context length is {limit} tokens. However, the prompt has {prompt} tokens and the answer needs {answer}.",
    help: 'Prompt and answer together exceed the context. Shorten one, or let truncate_prompt_tokens keep the end of the prompt. HEDDLE_CONTEXT sets the limit.',
  },
  input_too_long: {
    status: 400,
    message:
      "{field}: this model's maximum context length is {limit} tokens. However, the input has {received} tokens.",
    help: 'Shorten the text, or let `truncate_prompt_tokens` cut it. HEDDLE_CONTEXT sets the limit, up to what the model was trained with.',
  },
  prompt_empty: {
    status: 400,
    message: '{field}: the prompt has no tokens; accepted: at least one.',
    help: 'The text is empty, or was truncated to nothing.',
  },
  engine_queue_full: {
    status: 429,
    message: 'The model is busy and {limit} requests are already waiting; try again shortly.',
    help: 'HEDDLE_QUEUE sets how many may wait.',
  },
  engine_share_full: {
    status: 429,
    message:
      'The model is busy and {own} of your requests are already running or waiting; the remaining places in the queue are for others. Try again shortly.',
    help: 'A caller may have seven times as many waiting requests as there are free slots.',
  },
  upstream_lacks: {
    status: 400,
    message: '{field}: the server behind this model does not accept {received}; accepted: {accepted}.',
    help: 'See docs/gateway.md for what each kind accepts.',
  },
  upstream_refused: {
    status: 400,
    message: 'The server behind this model refuses the request: {why}.',
    help: 'The server behind this model refuses the request: the reason is in its words.',
  },
  upstream_busy: {
    status: 429,
    message: 'The server behind this model is busy; try again shortly.',
    help: 'Every address of the model answered 429.',
  },
  upstream_unavailable: {
    status: 503,
    message: 'The server behind this model is not available: {why}.',
    help: 'No address accepted the request, or one ended the connection without an answer (docs/gateway.md).',
  },
  upstream_failed: {
    status: 502,
    message: 'The server behind this model failed: {why}.',
    help: 'The server behind this model refused our key, or its answer cannot be read or broke off.',
  },
  upstream_timeout: {
    status: 504,
    message: 'The server behind this model sent nothing for {seconds} s.',
    help: 'The server behind this model sent nothing for HEDDLE_UPSTREAM_TIMEOUT.',
  },
  engine_failed: {
    status: 503,
    message: 'The engine of the model failed in the middle of this request: {why}.',
    help: 'It is restarted. Send the request again; the log has its last messages.',
  },
  record_refuses_writes: {
    status: 503,
    message:
      'The record accepts no writes now, and answers are recorded: {why} Try again shortly, or send the header x-heddle-record: off to leave this answer unrecorded.',
    help: 'Nothing was generated. x-heddle-record: off leaves the answer unrecorded (docs/recording.md).',
  },
  storage_full: {
    status: 503,
    message: 'The disk of the record is full: nothing of this request was stored.',
    help: 'Free space, then send it again. Reading still works.',
  },
  storage_busy: {
    status: 503,
    message: 'The record is locked by another process: nothing of this request was stored.',
    help: 'Another program has locked the database file.',
  },
  storage_read_only: {
    status: 503,
    message: 'The record cannot be written: nothing of this request was stored.',
    help: 'The file or the folder is read-only.',
  },
  storage_corrupt: {
    status: 503,
    message: 'The record is damaged; `heddle db check` reports where.',
    help: 'SQLite found a page that it cannot trust; `heddle db check` reports where. Restore a backup.',
  },
  storage_replaced: {
    status: 503,
    message:
      'The files of the record were removed or replaced while the server was running. It reads and writes nothing until it is restarted.',
    help: 'The log says which file or folder. Put the right files back, then restart. A write in progress may be lost.',
  },
  storage_failed: {
    status: 503,
    message: 'The record cannot be reached: nothing of this request was stored.',
    help: 'An I/O error, or the database server does not answer; the log has the reason.',
  },
  cold_store_unreachable: {
    status: 503,
    message:
      'The store of cold calls, which has inputs and outputs of older calls, does not answer. Try again.',
    help: 'The log has the reason. Lists and newer calls still work.',
  },
  redaction_unset: {
    status: 409,
    message: 'Project {"project"} has no redaction that could be applied to what is stored.',
    help: 'Set one first: PUT /projects/<entity>/<project>/redaction (docs/redaction.md).',
  },
  cold_store_unset: {
    status: 503,
    message:
      'Inputs and outputs of this project are in a store of cold calls, and HEDDLE_COLD_STORE is not set.',
    help: 'Set it as on other servers of this record.',
  },
  cold_file_damaged: {
    status: 503,
    message:
      'The file {file} of cold calls is missing or damaged: restore it from a backup, or delete its calls. `heddle db check` reports all such files.',
    help: 'See [docs/cold.md](cold.md).',
  },
  cold_call_in_write: {
    status: 503,
    message: 'An older call that this write needs is in the store of cold calls. Send it again.',
    help: 'Send it again.',
  },
  write_unconfirmed: {
    status: 503,
    message: 'The record did not confirm the write: it may or may not be stored.',
    help: 'It may or may not be stored: the connection broke during the commit, or the disk failed. Writes with an id are safe to send again.',
  },
  internal_error: {
    status: 500,
    message: 'Internal error. The log has the reason under the request id {request}.',
    help: 'A fault of the server. The log has the reason under the request id.',
  },
} as const satisfies Record<string, { status: number; message: string; help: string }>

export type RefusalCode = keyof typeof refusals

export type RefusalValues = Record<string, string | number>

/** The names in `{…}` of a message. */
type Holes<Message extends string> = Message extends `${string}{${infer Hole}}${infer Rest}`
  ? (Hole extends `"${infer Name}"` ? Name : Hole) | Holes<Rest>
  : never

type HolesOf<Code extends RefusalCode> = Holes<(typeof refusals)[Code]['message']>

/** What a refusal says: every hole of its message, so that none prints "undefined", and other values for programs. */
type Telling<Code extends RefusalCode> = [HolesOf<Code>] extends [never]
  ? [values?: RefusalValues, detail?: readonly SchemaIssue[]]
  : [values: RefusalValues & Record<HolesOf<Code>, string | number>, detail?: readonly SchemaIssue[]]

export interface SchemaIssue {
  loc: (string | number)[]
  msg: string
  type: string
}

/** A request that is refused, in the words of the domain. The front door gives it its envelope. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly values: RefusalValues
  /** Everything that does not fit, for schema errors. */
  readonly detail: readonly SchemaIssue[] | undefined
  /** It has the words of a server behind this one. */
  readonly isTold: boolean

  constructor(code: RefusalCode, values: RefusalValues, detail?: readonly SchemaIssue[], told?: string) {
    super(told ?? filledIn(refusals[code].message, values))
    this.isTold = told !== undefined
    this.code = code
    this.values = values
    this.detail = detail
  }

  get status(): number {
    return refusals[this.code].status
  }

  /** The field that the message names, if it names one. */
  get field(): string | null {
    const { field } = this.values
    return typeof field === 'string' ? field : null
  }
}

const filledIn = (message: string, values: RefusalValues): string =>
  message.replace(/\{("?)(\w+)\1\}/g, (_, quote: string, name: string) =>
    quote ? JSON.stringify(values[name]) : String(values[name]),
  )

export function refuse<Code extends RefusalCode>(
  code: Code,
  ...[values = {}, detail]: Telling<Code>
): Refusal {
  return new Refusal(code, values, detail)
}

/** A value that is valid on its own, but not here. */
export function wrong(field: string, received: string | number, accepted: string): Refusal {
  return refuse('invalid_value', { field, received, accepted })
}

/** A code whose message has nothing to fill in. */
export type PlainRefusalCode = {
  [Code in RefusalCode]: [HolesOf<Code>] extends [never] ? Code : never
}[RefusalCode]

/** A refusal that another thread or process made, with its values. */
export function passOnRefusal(refusal: Pick<Refusal, 'code' | 'values'> & Partial<Refusal>): Refusal {
  return new Refusal(refusal.code, refusal.values, refusal.detail)
}

/** A refusal of the catalogue in the words of a server behind this one. */
export function refuseWithMessage(
  code: RefusalCode,
  message: string,
  field: string | null,
  values: RefusalValues = {},
): Refusal {
  return new Refusal(code, { ...values, ...(field !== null && { field }) }, undefined, message)
}

export function requireFew(field: string, list: readonly unknown[], limit: number): void {
  if (list.length > limit) throw refuse('too_many_ids', { field, received: list.length, limit })
}
