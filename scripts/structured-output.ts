import { formats, keywords, mostInAnyOrder, numberFormats } from '../packages/constraints/index.ts'
import { cell, generated } from './pages.ts'

/** What a constraint may contain, from the compiler's own lists. */
export function structuredOutputPage(): string {
  const named = Object.entries(keywords)
  const rows = named.flatMap(([name, keyword]) =>
    keyword.standing === 'honoured' ? [`| \`${name}\` | ${cell(keyword.note || 'Supported.')} |`] : [],
  )
  const annotations = named.flatMap(([name, { standing }]) =>
    standing === 'annotation' ? [`\`${name}\``] : [],
  )
  const texts = Object.entries(formats).map(
    ([name, { standard, bound = '' }]) => `| \`${name}\` | ${cell(standard)} | ${cell(bound)} |`,
  )
  const numbers = Object.entries(numberFormats).map(
    ([name, [least, most]]) => `| \`${name}\` | a whole number from ${least} to ${most} | |`,
  )
  return `${generated}

# Structured output

How to get an answer that fits a JSON Schema, a regular expression, a choice, a grammar or a tag, and what each of these may
contain. It works for chat and for \`/v1/completions\`, streamed or not.

\`\`\`json
{"messages": [{"role": "user", "content": "Name a city and its country."}],
 "response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": {
   "type": "object", "required": ["city", "country"],
   "properties": {"city": {"type": "string"}, "country": {"type": "string"}}}}}}
\`\`\`

The answer always fits its constraint, on any model. A constraint that cannot be guaranteed is refused with a 400 that names the keyword
and its path; none is ignored. An answer that ends with \`finish_reason: "length"\` is cut off, so it is only the beginning of one that fits.

## Where the answer continues a text

With \`continue_final_message\`, and in the Messages API after a last message of the assistant, the constraint applies to that message
and the answer together: the message is the beginning of a text that fits, and the answer is its rest.

\`\`\`json
{"messages": [{"role": "user", "content": "Name a city."}, {"role": "assistant", "content": "{ \\"city\\" : \\"Par"}],
 "add_generation_prompt": false, "continue_final_message": true,
 "structured_outputs": {"json": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}
\`\`\`

| Given | Result |
|---|---|
| JSON for a schema or \`json_object\` | read with any white space that JSON allows, even where the answer itself may write none. Space after a number ends it |
| text for a \`regex\`, \`choice\`, \`grammar\` or \`structural_tag\` | read character by character |
| a complete text that fits | the answer is empty, or continues the text where a longer one fits too |
| an open thought (\`<think>…\` as plain text, where the template writes thoughts this way) | the constraint begins after the thought; after a closed thought, with the text that follows it |
| content with tools and \`"tool_choice": "auto"\` | no call: the content has begun |
| content where a call is required or a tool is named | the call follows as usual, and only its arguments are constrained |
| a text that is not the beginning of one that fits | 400 \`continued_text_unfit\`: the field, the character, and what would be accepted there |
| a text that takes more than 200,000 steps to read: one per character, and some more in lists whose items are remembered | 400 \`constraint_too_large\` |

The \`prompt\` of \`/v1/completions\` is not continued in this sense: there the constraint applies only to the answer.
[Decision 33](decisions/0033-a-constraint-reads-what-is-continued.md) has the reasons.

## Kinds of constraints

\`response_format\` accepts \`json_object\`, \`json_schema\` and \`structural_tag\` as its \`type\`. \`structured_outputs\` accepts one of these fields:

| Field | The answer is |
|---|---|
| \`json\` | a JSON value that fits the schema |
| \`json_object\` | any JSON object |
| \`regex\` | a text that the whole expression matches. ECMAScript with the flag \`u\`; lazy repetitions match like greedy ones. Up to 32 look-arounds, word boundaries and anchors inside; flags in groups (\`(?i:…)\`). Back-references are refused |
| \`choice\` | exactly one of the texts |
| \`grammar\` | a text of the grammar, in GBNF with \`::=\`. Lark, tokens (\`<[65]>\`), left recursion and undefined rules are refused. If a grammar is ambiguous in infinitely many ways, only a bounded number of them is followed: each answer fits, but not every text can be generated |
| \`structural_tag\` | free text; after a trigger, the content that the tag prescribes, until its end. Both forms are accepted: \`structures\` with \`triggers\`, and \`format\` |

A request has one constraint. \`response_format\` and \`structured_outputs\` may both be present when they are equal, or when
\`structured_outputs\` only sets how JSON is written (\`disable_any_whitespace\`, \`whitespace_pattern\`, \`disable_additional_properties\`,
\`any_order\`).
\`strict\` changes nothing: every schema is enforced.

## How JSON is written

| | |
|---|---|
| Order of members | that of \`properties\` (optional members may be left out), then other members. \`any_order: true\` lets declared members come in any order, in objects of up to ${mostInAnyOrder} of them; larger ones are refused |
| White space | nothing, one space, or a line break with up to 32 spaces or tabs between parts; nothing or one space after a colon; none around the value. \`disable_any_whitespace\` forbids it, \`whitespace_pattern\` replaces it |
| Numbers | integers up to 19 digits, decimals up to 21 digits before the point and 22 after it, exponents up to 307 |
| Strings | no raw control characters. A string with a \`pattern\`, a \`format\` or a forbidden value is escaped as by JSON.stringify |
| \`enum\`, \`const\` | as given; numbers also without an exponent and without trailing zeros in a fraction |

## Objects are closed by default

An object that lists \`properties\` and says nothing about others accepts no others. \`allOf\`, \`$ref\` and the chosen branch count as
part of the object. An object stays open when it

- says something about others: \`additionalProperties\`, \`patternProperties\`, \`unevaluatedProperties\` or \`propertyNames\`;
- lists no \`properties\`; or
- needs more members (\`minProperties\`) than it lists.

A \`required\` name is possible whether it is listed or not. \`disable_additional_properties\` in \`structured_outputs\` changes the default:
\`false\` leaves objects as open as in JSON Schema; \`true\` closes every object that lists members and has neither
\`additionalProperties\` nor \`unevaluatedProperties\`. [Decision 12](decisions/0012-objects-are-closed-by-default.md) has the reasons.

In an open object, names that are not declared may repeat, and the last value counts. Where that matters (\`minProperties\` above
one), the names that were written are remembered, and none is written twice.

## Keywords

JSON Schema drafts 3 to 2020-12 are supported. \`$schema\` selects the draft; without it, the draft is inferred from the keywords. As in
the standard, a keyword restricts only values of its own type: add \`type\` to exclude the others. A keyword of a later draft also
applies in an earlier one.

| Draft | What differs |
|---|---|
| 3 | \`required: true\` in a member, \`extends\`, \`disallow\`, \`divisibleBy\`, the type \`any\`, schemas in \`type\`, \`dependencies\` on one name |
| 3, 4 | \`id\` is the identifier; \`exclusiveMinimum\` and \`exclusiveMaximum\` are true or false, next to their bound |
| 3 to 2019-09 | a list of \`items\` applies by position, and \`additionalItems\` to the other items; \`prefixItems\` does not change \`items\` |
| 4 to 7 | \`definitions\` and \`dependencies\`, which have other names in later drafts; both are read in all drafts |
| from 6 | \`$id\` is the identifier, and exclusive bounds are numbers |
| 2019-09, 2020-12 | \`$anchor\`, \`$recursiveRef\`, \`$dynamicRef\` |

Without \`$schema\`, a \`required\` that is true or false, \`divisibleBy\` and \`disallow\` mean draft 3; an \`id\`, and exclusive bounds that are
true or false, mean draft 4; \`definitions\`, \`dependencies\` and lists of \`items\` mean draft 7; everything else is draft 2020-12.

| Keyword | What is supported |
|---|---|
${rows.join('\n')}

Negation (\`not\`, \`if\`, and branches of \`oneOf\` that could hold at the same time) works for everything except
\`uniqueItems\`, \`additionalItems\`, \`unevaluatedProperties\` next to other schemas, \`contains\` with counts, non-empty lists or objects
in \`enum\` and \`const\`, and more than five keywords about other members at once. A member that violates such a keyword comes last
among those of its kind, because names may repeat.

\`uniqueItems\` remembers the items that were written, of any type: no item is written that equals an earlier one, and none is begun that
could only end as an equal one. In such items numbers have no exponent and no trailing zeros in a fraction, and strings are escaped as by
JSON.stringify; members are in the order in which the schema first names them. \`uniqueItems\` is refused

- together with \`contains\`;
- around other lists that are remembered, unless these are in an open object;
- where undeclared members are bounded in number, or are in one of several kinds of objects; and
- where it is not certain that there are as many different items as \`minItems\` requires.

For arguments of tools it is dropped instead, and the answer names it.

Annotations are ignored, as in the standard: ${annotations.join(', ')}, and every name that is not a keyword. A name that is almost a
keyword (\`requried\`) is reported in the header \`x-heddle-schema-notes\`, percent-encoded, and in the log:
\`#/properties/a requried: required?\`. \`HEDDLE_UNKNOWN_KEYWORDS=refuse\` refuses every name that is not a keyword and does not
begin with \`x-\`.

## Formats

No string is accepted that the standard rejects. The table shows where less than the standard is generated.

| Format | Standard | Restriction |
|---|---|---|
${texts.join('\n')}
${numbers.join('\n')}

Any other format is only an annotation, and is ignored. So is a format next to a \`pattern\` that excludes it: zod writes the format
\`time\` next to the pattern of a time without a zone, and then the pattern decides.

## What libraries write

Every type of zod 3 and 4.0 to 4.6, as \`openai\`, \`ai\`, LangChain, instructor, LlamaIndex and OpenAI's agents send it, and every type
of pydantic 2 compile, with these exceptions; \`test/clients/schemas\` goes through all of them.

- A schema that no value fits is refused, as no answer could be given: \`never\` and \`nan\`; an intersection of two objects, each of
  which the library has closed; zod 3's \`cidr()\` without a version, which is sent as an address of both.
- A reference to nothing is refused: instructor leaves out the definition of a type that is used twice, or that refers to itself.

Some schemas say less than the library checks: zod 3 does not write \`base64url\`, \`cidr\` or \`jwt\` for OpenAI, no library writes
\`refine\` or \`trim\`, and instructor writes nothing at all for zod 4. The library then checks the rest itself.

## Sampling and the end of an answer

Tokens that the grammar does not allow get a logit of −∞ before anything else; log-probabilities show them as −9999. Bias, penalties, top_k,
top_p and min_p apply after that. Control tokens are never allowed.

A token that ends the answer can be drawn only where the text is complete. Where nothing can follow, the answer ends with its last token,
with \`finish_reason: "stop"\` and \`stop_reason: null\`; \`min_tokens\` and \`ignore_eos\` do not prolong it. A stop text or a stop token ends
the answer where it occurs, so it may cut the answer off.

What \`bad_words\` leaves of a constraint is found before the answer begins: what can only be completed with a banned text is never
begun, and where nothing is left, the request is a 400 \`no_token_possible\` that names both fields. The search for the rest of the
constraint has a bound, which only grammars exceed that continue without end towards a banned text; such an answer, and one whose
\`allowed_token_ids\` cannot spell the rest of the constraint, or whose array must repeat no item (\`uniqueItems\`), can still run into
\`no_token_possible\` later, in a stream as an error event. \`logit_bias\` lowers tokens and never excludes them, and \`min_tokens\` ends where
the constraint does, so neither can leave nothing. Beam search does not accept a constraint.

## What is not drawn

Where the grammar allows only one text (names of fields after their quotes, \`const\`, the rest of an \`enum\` value, fixed parts of a
format), nothing is drawn. The answer continues with that text, split into tokens as the tokenizer splits it, up to the first position
where a token could reach beyond it. All of it is computed in one step ([guessing ahead](speculation.md)). Such tokens use no random
number, and penalties do not affect them. \`usage\` counts them, and log-probabilities report how likely the model considered this split
among those that the grammar allows. With \`allowed_token_ids\`, \`logit_bias\`, \`bad_words\` or \`min_tokens\` every token is drawn, and the
model splits the text as it chooses. Optional white space is a choice: \`disable_any_whitespace\` leaves only one text in more places.

## How much of the world's schemas

Measured with \`benchmarks/maskbench.ts\` over the schemas of [MaskBench](https://github.com/guidance-ai/jsonschemabench): as sent over the
8,845 that can be read, and earlier over 600 of them (seed 1). The machine has two cores; the members of values are in the order of the
schema for Heddle, and in their own order for XGrammar.

| Engine | Compiled | Every test right | Valid accepted | Invalid accepted |
|---|---|---|---|---|
| Heddle, as sent, all 8,845 (2026-11-23) | 97.9 % | 93.0 % | 94.3 % of 10,609 | 0 of 16,304 |
| Heddle, \`disable_additional_properties: false\`, before members could be negated | 95.7 % | 94.3 % | 98.4 % of 734 | 0 of 1,222 |
| \`@mlc-ai/web-xgrammar\` 0.1.27, over the same 600 | 99.2 % | 73.3 % | 95.2 % of 748 | 371 of 1,249 |

Published for all of MaskBench: llguidance passes 79 %, XGrammar 72 to 82 %, llama.cpp 58 %. The valid values that are refused as sent
mostly have members that their schema does not list. What is refused mostly has branches that combine in too many ways. Thirteen of
them fit no value: they require members of which their \`oneOf\` allows only some.

Over all schemas, on a quiet machine in elapsed time, a schema compiles in 0.6 ms at the median, 40 ms at the 99th percentile and 189 ms at
most. With 128,000 tokens a mask takes 0.04 ms at the median, 0.2 ms at the 99th percentile and 0.8 ms at most, and the first of an answer
at most 0.4 ms. This is over the first 60 schemas that compile and have a valid value, with the minimum of five rounds for each position.
Over 300 others (minimum of three), the maximum of 45,475 masks was 6.2 ms.

On another 395 schemas (300 in the styles of MaskBench, those of the tests, and 53 large ones: enums of thousands, deep and dense
references, unions of 60 kinds, 400 optional members, large patterns) compiling takes 2 ms at the median, 60 ms at the 99th percentile and
85 ms at most. A mask of 128,000 tokens at a new position takes 0.06 ms at the median, 0.17 ms at the 99th percentile and 0.23 ms at most
over 60 of the first kind. Each is the minimum of five rounds, so that neither the garbage collector nor other processes count; in a single
round, some take up to 20 ms. Over the large schemas it is 0.1 ms at the median, 1.8 ms at the 99th percentile and 11 ms at most (in the
digits of 2,000 texts of an enum).

\`\`\`sh
npx node benchmarks/maskbench.ts --folder jsonschemabench/maskbench/data --sample 2500 --mode "as sent" --masks 60
\`\`\`

## Limits

Compiling takes a bounded number of steps, some tenths of a second at most. The result is cached for the next request with the same
constraint. A constraint is refused as too large when it has

| What | More than |
|---|---|
| ways in which branches combine | 256 |
| levels of nesting in a schema | 128 |
| states of a pattern, counted together with its lengths | 4,000 |
| optional members of an object that may come first | 900 |
| grammar rules | 20,000 |
| bytes of grammar | 1 MiB |
`
}
