import { ResponsesBody } from '../src/operations/responses/contract.ts'
import { fieldTableBesideChat } from './chat-parameters.ts'
import { generated } from './pages.ts'

/** What is stored of answers, what each field does, and what a stream looks like. */
export function responsesPage(): string {
  return `${generated}

# The Responses API

\`POST /v1/responses\` is what \`openai\` (\`client.responses\`), \`@openai/agents\` and \`@ai-sdk/openai\` call by default.

\`\`\`
curl http://127.0.0.1:8080/v1/responses -H "Authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"input": "Name a colour."}'
curl http://127.0.0.1:8080/v1/responses -H "Authorization: Bearer $KEY" -H 'content-type: application/json' \\
  -d '{"input": "And another.", "previous_response_id": "resp_…"}'
\`\`\`

| Route | |
|---|---|
| \`POST /v1/responses\` | an answer, whole or with \`"stream": true\` as events |
| \`GET /v1/responses/{id}\` | an answer that was kept. \`?stream=true\` sends its events again with the same numbers, \`&starting_after=n\` those after n |
| \`DELETE /v1/responses/{id}\` | removes the answer and its call |
| \`GET /v1/responses/{id}/input_items\` | the items of its own request, in pages (\`limit\`, \`order\`, \`after\`) |
| \`POST /v1/responses/input_tokens\` | how many tokens the model would read |
| \`POST /v1/responses/{id}/cancel\` | ends an answer that is made [in the background](#in-the-background). Closing the connection ends any other |

## What is kept

An answer is kept unless its request says \`"store": false\`, as a call of the record (\`heddle.responses\`, [recording](recording.md)) that the
header \`x-heddle-call-id\` names. Users of its project see the call; by its response id only the user whose key requested it gets the answer.

- It is on the disk before its end is sent; otherwise the request is a 503, and a stream ends with \`response.failed\`.
- Deleting either removes both. They expire as calls of the project do, or after HEDDLE_RESPONSE_DAYS if that is less. An answer
  that another continues is kept as long as that one, but never longer than calls.
- Where nothing is [recorded](recording.md#which-answers), nothing is kept: \`"store": true\` and \`previous_response_id\` are a 400
  \`recording_off\`, and \`store\` in the answer is false.
- An answer whose client left before the end, and one that failed, is a call, but cannot be read or continued here. One that is
  \`incomplete\` because of a limit can.
- \`previous_response_id\` puts the conversation up to that answer before the input, without its \`instructions\`. A
  conversation has at most 10000 items and 32 Mi characters.
- \`{"type": "item_reference", "id": "msg_…"}\` refers to an item of a kept answer or of the conversation.

## Conversations

\`"conversation": "conv_…"\` (or \`{"id": "conv_…"}\`) puts the items of a conversation before the input. When the answer is kept, its input and
output are added in the same write.

| Route | |
|---|---|
| \`POST /v1/conversations\` | begins one, with up to 20 \`items\` and \`metadata\` |
| \`GET\`, \`POST\`, \`DELETE /v1/conversations/{id}\` | reads it, replaces its \`metadata\`, deletes it |
| \`GET\`, \`POST /v1/conversations/{id}/items\` | its items, in pages; adds up to 20 |
| \`GET\`, \`DELETE /v1/conversations/{id}/items/{item_id}\` | reads or deletes an item |

- It belongs to its user and a project (\`x-heddle-project\`), whose redaction its texts go through; those of an answer also go through that
  of the answer's project.
- Items and answers are deleted separately. An answer whose conversation is deleted meanwhile fails with a 404.
- It expires like an answer that is made when something is added.
- A user has at most 10000, each of at most 10000 items and 32 Mi characters.

## Sealed thoughts

\`"include": ["reasoning.encrypted_content"]\` encrypts thoughts (AES-256-GCM), for a client that keeps them with \`"store": false\` and sends them
back. Every process on the record can decrypt them, for the same user only; others get a 400 \`invalid_encrypted_content\`.

## In the background

\`"background": true\` answers at once with \`"status": "queued"\`; read the answer until it is \`completed\`, \`incomplete\`, \`failed\`
or \`cancelled\`. It is asked with your key when the model has room, behind requests that somebody waits for, also
after a kill, and stored once. After a day without room it fails as \`expired\`.

- With \`"stream": true\`, and with \`?stream=true\` while it runs, the events of the answer follow when it has ended.
- A user has at most 100 that wait, of 64 MiB together (HEDDLE_BATCH_PARALLEL at the same time). One that failed or
  was cancelled is shown without its request for HEDDLE_RESPONSE_DAYS, or 30 days, the newest 100 of a user.
- Refused by name: \`"store": false\`, \`cache_salt\`, a token of an identity provider in place of a key, and projects that
  [replace private texts](redaction.md).

## Items

| Item of the input | What the model reads |
|---|---|
| \`message\` of \`user\`, \`assistant\`, \`system\` or \`developer\` | a message: a text, or \`input_text\`, \`output_text\` and \`refusal\` parts. Images, audio and files are refused by their type; \`input_image\` with an \`image_url\` goes to models on [another server](gateway.md#agents) |
| \`reasoning\` | the thought of the assistant's next turn: the encrypted content, \`content\`, or \`summary\` |
| \`function_call\` | a call in the assistant's turn; \`arguments\` are the text of a JSON object |
| \`function_call_output\` | the result of the call with that \`call_id\`, which must be in the input |

An answer has a \`reasoning\` item, a \`message\` and a \`function_call\` for each call. Its \`status\` is
\`completed\`, \`failed\` (in streams, with \`error.message\`), or \`incomplete\`: \`incomplete_details.reason\` is \`max_output_tokens\` (also at the
end of the context), \`repetition\`, or \`stop\` where a stop text ended it inside a call. A call that was cut off is \`incomplete\` too.

## Events

\`data: {…}\` of an event has \`type\` and \`sequence_number\` from 0; \`data: [DONE]\` ends the stream. All types begin with
\`response.\`.

| | |
|---|---|
| the answer | \`created\`, \`in_progress\`, at the end \`completed\`, \`incomplete\` or \`failed\` |
| each item | \`output_item.added\`, its own events, \`output_item.done\` |
| a thought | \`content_part.added\`, \`reasoning_text.delta\` …, \`reasoning_text.done\`, \`content_part.done\`; with \`reasoning.summary\` also \`reasoning_summary_part.added\`, \`reasoning_summary_text.delta\` …, \`reasoning_summary_text.done\`, \`reasoning_summary_part.done\` |
| a message | \`content_part.added\`, \`output_text.delta\` …, \`output_text.done\`, \`content_part.done\` |
| a call | \`function_call_arguments.delta\` …, \`function_call_arguments.done\`. A call that was cut off has neither that nor \`output_item.done\` |

## Fields

Fields are honoured, refused or ignored as in [chat completions](chat-parameters.md#fields).

${fieldTableBesideChat(ResponsesBody)}

An answer has at most 65,536 log-probabilities, candidates included.

Of the compliance tests of Open Responses 7 of 17 pass. The others need WebSockets (7), the compaction of conversations (2) and images (1).
`
}
