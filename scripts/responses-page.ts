import { ResponsesBody } from '../src/operations/responses/contract.ts'
import { fieldTable } from './chat-parameters.ts'
import { generated } from './pages.ts'

/** What is stored of answers, what each field does, and what a stream looks like. */
export function responsesPage(): string {
  return `${generated}

# The Responses API

How to use \`POST /v1/responses\`, which \`openai\` (\`client.responses\`), \`@openai/agents\` and \`@ai-sdk/openai\` call by default, and
what is kept of an answer.

\`\`\`
curl http://127.0.0.1:8080/v1/responses -H "Authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"input": "Name a colour."}'
curl http://127.0.0.1:8080/v1/responses -H "Authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"input": "And another.", "previous_response_id": "resp_…"}'
\`\`\`

| Route | |
|---|---|
| \`POST /v1/responses\` | an answer, whole or with \`"stream": true\` as events |
| \`GET /v1/responses/{id}\` | an answer that was kept. \`?stream=true\` sends its events again with the same numbers, \`&starting_after=n\` only those after number n. The log-probabilities of the whole text are kept, those of single deltas are not |
| \`DELETE /v1/responses/{id}\` | removes the answer and its call |
| \`GET /v1/responses/{id}/input_items\` | the items of its own request, in pages (\`limit\`, \`order\`, \`after\`) |
| \`POST /v1/responses/input_tokens\` | how many tokens the model would read |
| \`POST /v1/responses/{id}/cancel\` | a 400: no answer is made in the background. Closing the connection of a request ends its answer |

## What is kept

An answer is kept unless its request says \`"store": false\`: it is a call of the record (\`heddle.responses\`, [Recording](recording.md)),
and read from there. The header \`x-heddle-call-id\` names the call. Users with access to its project see the call; by its response id the
answer is available only to the user whose key requested it.

- The answer is on the disk before it, or \`response.completed\`, is sent. If it cannot be written, the request gets a 503, and a stream
  ends with \`response.failed\`.
- Answer and call are the same record: deleting either, by \`DELETE\` here or by \`/calls/delete\`, removes both, and they expire
  together. A call that a client overwrites, so that it is no longer an answer of this server, is not an answer here.
- An answer is kept as long as the record keeps calls of its project, or for HEDDLE_RESPONSE_DAYS if that is set and less. With that
  limit, an answer that another one continues is kept as long as that one, but never longer than calls are. When a user is removed,
  its answers are removed too; their calls stay in their projects. Answers from before answers became calls stay without a call.
- Where nothing is recorded, nothing is kept. With HEDDLE_RECORD=off, a key with that setting, or \`x-heddle-record: off\`,
  \`"store": true\` and \`previous_response_id\` get a 400 \`recording_off\` that names the cause, and \`store\` in the answer is false.
  With HEDDLE_RECORD=asked, a request to the Responses API counts as asking.
- A client that disconnects before the end stops the answer. Such an answer, and one that failed, is a call, but it cannot be read or
  continued here. Completed answers are kept, whether their client is still connected or not, and so are those that are
  \`incomplete\` because of a limit.
- \`previous_response_id\` puts the conversation up to that answer in front of the input, without its \`instructions\`. Deleting an
  answer in the middle of a conversation breaks what follows: a 400 \`previous_response_not_found\` names the missing one. A
  conversation has at most 10000 items and 32 Mi characters. Its requests and answers, with everything that they repeat, tools and
  instructions included, have at most 128 Mi.
- \`{"type": "item_reference", "id": "msg_…"}\` refers to an item of an answer that was kept.

\`"include": ["reasoning.encrypted_content"]\` encrypts thoughts (AES-256-GCM), so that a client can keep them with
\`"store": false\` and send them back. The key is in the record: every process on that record can decrypt them, but only for the same
user. Thoughts of another server get a 400 \`invalid_encrypted_content\`.

## Items

| Item of the input | What the model reads |
|---|---|
| \`message\` with the role \`user\`, \`assistant\`, \`system\` or \`developer\` | a message; content is a text, or \`input_text\`, \`output_text\` and \`refusal\` parts. Images, audio and files are refused by their type |
| \`reasoning\` | the thought of the following turn of the assistant: the encrypted content, or \`content\`, or else \`summary\` |
| \`function_call\` | a call in the assistant's turn. Its \`arguments\` are the text of a JSON object |
| \`function_call_output\` | the result of the call with that \`call_id\`, which must be in the input |

An answer has a \`reasoning\` item, a \`message\` and a \`function_call\` for each call, in the order in which the model wrote them; empty
items are left out. \`id\` and \`call_id\` are different ids.

| \`status\` | |
|---|---|
| \`completed\` | |
| \`incomplete\` | \`incomplete_details.reason\` is \`max_output_tokens\` (also at the end of the context), \`repetition\`, or \`stop\` where a stop text ended the answer inside a call. A call that was cut off has the status \`incomplete\` too |
| \`failed\` | in streams: \`error.message\` has the reason |

## Events

Each event is \`event: <type>\` and \`data: {…}\` with \`type\` and \`sequence_number\`, which counts from 0. All types begin with
\`response.\`; \`data: [DONE]\` ends the stream.

| | |
|---|---|
| the answer | \`created\`, \`in_progress\`, and at the end \`completed\`, \`incomplete\` or \`failed\` |
| each item | \`output_item.added\`, its own events, \`output_item.done\` |
| a thought | \`content_part.added\`, \`reasoning_text.delta\` …, \`reasoning_text.done\`, \`content_part.done\`; with \`reasoning.summary\` also \`reasoning_summary_part.added\`, \`reasoning_summary_text.delta\` …, \`reasoning_summary_text.done\`, \`reasoning_summary_part.done\` |
| a message | \`content_part.added\`, \`output_text.delta\` …, \`output_text.done\`, \`content_part.done\` |
| a call | \`function_call_arguments.delta\` …, \`function_call_arguments.done\`. A call that was cut off has neither that nor \`output_item.done\`, because clients would run it |

A refusal before the first event is a JSON body with its status, for streams too.

## Fields

Every field is honoured, or refused by name with a 400. A field that can have no effect here is marked **No effect**. A field that is
not in the table is ignored, and named in the log at level debug. Fields with the name of a field of chat completions mean
[the same as there](chat-parameters.md).

${fieldTable(ResponsesBody)}

An answer has at most 65,536 log-probabilities, candidates included; chat completions can have more.

The compliance tests of Open Responses (openresponses/openresponses, of which this repository contains no file) pass where they are about
text, streams, tools and conversations: 7 of 17 on the built-in model. The others need WebSockets (7), the compaction of conversations (2)
and images (1): pictures (\`input_image\` with an \`image_url\`) go to models on [another server](gateway.md#agents) only.
`
}
