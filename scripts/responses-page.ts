import { ResponsesBody } from '../src/operations/responses/contract.ts'
import { fieldTable } from './chat-parameters.ts'
import { generated } from './pages.ts'

/** What is stored of answers, what each field does, and what a stream looks like. */
export function responsesPage(): string {
  return `${generated}

# The Responses API

How to ask by \`POST /v1/responses\`, which \`openai\` (\`client.responses\`), \`@openai/agents\` and \`@ai-sdk/openai\` use by default, and
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
| \`GET /v1/responses/{id}\` | an answer that was kept. \`?stream=true\` sends its events once more under the same numbers, \`&starting_after=n\` those behind number n. Only the log-probabilities of single deltas are not kept; those of the whole text are |
| \`DELETE /v1/responses/{id}\` | removes it, and its call |
| \`GET /v1/responses/{id}/input_items\` | what its own request brought, by pages (\`limit\`, \`order\`, \`after\`) |
| \`POST /v1/responses/input_tokens\` | how many tokens the model would read |
| \`POST /v1/responses/{id}/cancel\` | a 400: no answer is made in the background. Closing the connection of a request ends its answer |

## What is kept

An answer is kept unless its request says \`"store": false\`: it is a call of the record (\`heddle.responses\`, [Recording](recording.md)),
and read from there. The header \`x-heddle-call-id\` names the call. Whoever may read its project sees the call; by its own id the
answer is there for the user whose key asked, and for nobody else.

- It is on the disk before the answer, or \`response.completed\`, is sent. When it cannot be written the answer is a 503, and a
  stream ends with \`response.failed\`.
- Answer and call are one: deleting either, by \`DELETE\` here or by \`/calls/delete\`, removes both, and they expire together. A call
  that somebody writes anew, so that it is no answer of this server any more, is no answer here.
- It is kept as long as the record keeps calls of its project, or for HEDDLE_RESPONSE_DAYS where that is set and less. With that
  limit an answer that another one continues is kept as long as that one, but never longer than calls are. When a user is removed,
  its answers are gone; their calls stay with their projects. Answers that were kept before they were calls stay without one.
- Where nothing is recorded nothing is kept: with HEDDLE_RECORD=off, a key that is set so, or \`x-heddle-record: off\`,
  \`"store": true\` and \`previous_response_id\` are a 400 \`recording_off\` that says which of them it is, and \`store\` of the answer
  is false. Under HEDDLE_RECORD=asked the Responses API asks by itself.
- A client that leaves before the end ends the answer. That is a call, as is an answer that failed, but it cannot be read or
  continued here. What is complete is kept, whether its client is still there or not, and so is what is \`incomplete\` by its limits.
- \`previous_response_id\` puts everything that was said up to that answer in front of the input, but no \`instructions\`. Deleting
  an answer in the middle of a conversation breaks what comes after it: a 400 \`previous_response_not_found\` names the missing one.
  A conversation has at most 10000 items and 32 Mi characters, and its requests and answers with all that they repeat, tools and
  instructions too, 128 Mi.
- \`{"type": "item_reference", "id": "msg_…"}\` stands for an item of an answer that was kept.

\`"include": ["reasoning.encrypted_content"]\` seals thoughts (AES-256-GCM), so that a client keeps them with \`"store": false\` and
brings them back. The key lies in the record: every process on it opens what another has sealed, for the same user alone. Thoughts
of another server are a 400 \`invalid_encrypted_content\`.

## Items

| Item of the input | What the model reads |
|---|---|
| \`message\` with the role \`user\`, \`assistant\`, \`system\` or \`developer\` | a message; content is a text, or \`input_text\`, \`output_text\` and \`refusal\` parts. Images, audio and files are refused by their type |
| \`reasoning\` | the thought of the assistant's turn that follows: what was sealed, or \`content\`, or else \`summary\` |
| \`function_call\` | a call in the assistant's turn. Its \`arguments\` are the text of a JSON object |
| \`function_call_output\` | the result of the call with that \`call_id\`, which has to be there |

An answer has a \`reasoning\` item, a \`message\` and a \`function_call\` for each call, in the order in which they were said, and no
empty ones. \`id\` and \`call_id\` are two ids.

| \`status\` | |
|---|---|
| \`completed\` | |
| \`incomplete\` | \`incomplete_details.reason\` is \`max_output_tokens\` (also at the end of the context), \`repetition\`, or \`stop\` where a stop text ended the answer inside a call. A call that was cut off has the status \`incomplete\` too |
| \`failed\` | in streams: \`error.message\` says why |

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

What is refused before the first event is a JSON body with its status, in streams too.

## Fields

Every field is honoured, or refused by name with a 400. A field that can have no effect here is marked **No effect**. A field that is
not in the table is ignored, and named in the log at level debug. Fields with a name of chat completions do
[what they do there](chat-parameters.md).

${fieldTable(ResponsesBody)}

An answer has at most 65,536 log-probabilities, candidates included; chat completions have more.

The compliance tests of Open Responses (openresponses/openresponses, of which no file is here) pass where they are about text,
streams, tools and conversations, 7 of 17 on the built-in model. The others need WebSockets (7), the compaction of conversations (2)
and images (1), which are not offered.
`
}
