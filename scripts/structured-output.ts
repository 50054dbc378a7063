import { formats, keywords, maxInAnyOrder, numberFormats } from '../packages/constraints/index.ts'
import { cell, generated } from './pages.ts'

const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')

/** A row for each text, after the names that it applies to. */
function rowsOf(named: readonly (readonly [name: string, cells: string])[]): string {
  const groups = Map.groupBy(named, ([, cells]) => cells)
  return [...groups]
    .map(([cells, names]) => `| ${listed(names.map(([name]) => name))} | ${cells} |`)
    .join('\n')
}

/** What a constraint may contain, from the compiler's own lists. */
export function structuredOutputPage(): string {
  const named = Object.entries(keywords)
  const honoured = named.flatMap(([name, keyword]) =>
    keyword.standing === 'honoured' ? [[name, cell(keyword.note || 'As in the standard.')] as const] : [],
  )
  const annotations = named.flatMap(([name, { standing }]) => (standing === 'annotation' ? [name] : []))
  const texts = Object.entries(formats).map(
    ([name, { standard, bound = '' }]) =>
      [name, cell(bound === '' ? standard : `${standard}; ${bound}`)] as const,
  )
  return `${generated}

# Structured output

An answer that fits a JSON Schema, a regular expression, a choice, a grammar or a tag, in chat and in \`/v1/completions\`:

\`\`\`json
{"messages": [{"role": "user", "content": "Name a city and its country."}],
 "response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": {
   "type": "object", "required": ["city", "country"],
   "properties": {"city": {"type": "string"}, "country": {"type": "string"}}}}}}
\`\`\`

What cannot be guaranteed is a 400 that names the keyword and its path. With \`finish_reason: "length"\` it is the beginning of one that fits.

## Kinds of constraints

A request has one constraint: a \`response_format\` of the \`type\` \`json_object\`, \`json_schema\` or \`structural_tag\`, or one of these fields
of \`structured_outputs\`:

| Field | The answer is |
|---|---|
| \`json\` | a JSON value that fits the schema |
| \`json_object\` | any JSON object |
| \`regex\` | a text that the whole expression matches. ECMAScript with the flag \`u\`; lazy repetitions match like greedy ones. Up to 32 look-arounds, word boundaries and anchors inside; flags in groups (\`(?i:…)\`); no back-references |
| \`choice\` | exactly one of the texts |
| \`grammar\` | a text of the grammar, in GBNF with \`::=\`. Lark, tokens (\`<[65]>\`), left recursion and undefined rules are refused |
| \`structural_tag\` | free text; after a trigger, the content that the tag prescribes, until its end: \`structures\` with \`triggers\`, or \`format\` |

Both may be given when they are equal, or when \`structured_outputs\` only says how JSON is written. Every schema is enforced, \`strict\` or not.
Beam search accepts no constraint.

## How JSON is written

| | |
|---|---|
| Members | in the order of \`properties\` (optional ones may be left out), then others. \`any_order: true\`: declared ones in any order, in objects of up to ${maxInAnyOrder}; larger are refused |
| White space | nothing, one space, or a line break with up to 32 spaces or tabs between parts; nothing or one space after a colon; none around the value. \`disable_any_whitespace\` forbids it, \`whitespace_pattern\` replaces it |
| Numbers | integers up to 19 digits, decimals up to 21 digits before the point and 22 after it, exponents up to 307 |
| Strings | no raw control characters; with a \`pattern\`, a \`format\` or a forbidden value, escaped as by JSON.stringify |
| \`enum\`, \`const\` | as given; numbers also without an exponent and without trailing zeros in a fraction |

**Objects are closed by default** ([why](decisions/0012-objects-are-closed-by-default.md)). One that lists \`properties\` accepts no others,
unless it says something about others (\`additionalProperties\`, \`patternProperties\`, \`unevaluatedProperties\`, \`propertyNames\`), or needs
more members (\`minProperties\`) than it lists. \`allOf\`, \`$ref\` and the chosen branch count as part of the object; a \`required\` name is
possible whether listed or not. \`"disable_additional_properties": false\` leaves objects as open as in JSON Schema; \`true\` closes
every object that lists members and has neither \`additionalProperties\` nor \`unevaluatedProperties\`.
In an open object undeclared names may repeat, but for \`minProperties\` above one.

## Where the answer continues a text

With \`continue_final_message\`, and in the Messages API after a last message of the assistant, that message is the beginning of a text that
fits, and the answer its rest ([why](decisions/0033-a-constraint-reads-what-is-continued.md)); the \`prompt\` of \`/v1/completions\` is not.

\`\`\`json
{"messages": [{"role": "user", "content": "Name a city."}, {"role": "assistant", "content": "{ \\"city\\" : \\"Par"}],
 "add_generation_prompt": false, "continue_final_message": true,
 "structured_outputs": {"json": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}
\`\`\`

| Given | Result |
|---|---|
| JSON | read with any white space of JSON; space after a number ends it |
| an open thought (\`<think>…\` as plain text) | the constraint begins after it; after a closed thought, with the text that follows it |
| content with tools | no call with \`"tool_choice": "auto"\`; a required or named call follows, and only its arguments are constrained |
| what is not the beginning of a text that fits | 400 \`continued_text_unfit\`: the field, the character, what would be accepted there |
| more than 200,000 steps to read: one per character, more in lists whose items are remembered | 400 \`constraint_too_large\` |

## Keywords

JSON Schema drafts 3 to 2020-12. A keyword restricts only values of its own type: add \`type\` to exclude the others. A
keyword of a later draft applies in an earlier one too.

| Draft | What differs | Without \`$schema\`, inferred from |
|---|---|---|
| 3 | \`required: true\` in a member, \`extends\`, \`disallow\`, \`divisibleBy\`, the type \`any\`, schemas in \`type\`, \`dependencies\` on one name | \`required\` of true or false, \`divisibleBy\`, \`disallow\` |
| 3, 4 | \`id\` is the identifier; \`exclusiveMinimum\` and \`exclusiveMaximum\` are true or false, next to their bound | \`id\`, such bounds (4) |
| 3 to 2019-09 | a list of \`items\` applies by position, \`additionalItems\` to the others; \`prefixItems\` does not change \`items\` | such lists (7) |
| 4 to 7 | \`definitions\`, \`dependencies\`; read in all drafts | these (7) |
| from 6 | \`$id\` is the identifier; exclusive bounds are numbers | |
| 2019-09, 2020-12 | \`$anchor\`, \`$recursiveRef\`, \`$dynamicRef\` | all else (2020-12) |

| Keyword | What is supported |
|---|---|
${rowsOf(honoured)}

**Negation** (\`not\`, \`if\`, branches of \`oneOf\` that could hold together) works for everything except \`uniqueItems\`,
\`additionalItems\`, \`unevaluatedProperties\` next to other schemas, \`contains\` with counts, non-empty lists or objects in \`enum\` and
\`const\`, and more than five keywords about other members at once. A member that violates such a keyword comes last among its kind.

**\`uniqueItems\`** remembers items of any type, written like \`const\`, with members in the order in which the schema first names
them. It is refused with \`contains\`, around other remembered
lists unless these are in an open object, where undeclared members are bounded in number or in one of several kinds of objects, and where
there may be fewer different items than \`minItems\` requires. For arguments of tools it is dropped instead, and the answer names it.

**Annotations** are ignored: ${listed(annotations)}, and every name that is not a keyword. One that is almost a keyword is
named in the log and in the header \`x-heddle-schema-notes\`, percent-encoded: \`#/properties/a requried: required?\`.
\`HEDDLE_UNKNOWN_KEYWORDS=refuse\` refuses every name that is no keyword and does not begin with \`x-\`.

## Formats

No string is accepted that the standard rejects. After the semicolon: where less than the standard is generated.

| Format | Standard |
|---|---|
${rowsOf(texts)}
| ${listed(Object.keys(numberFormats))} | a whole number of so many bits |

Any other format is an annotation, and so is one next to a \`pattern\` that excludes it.

## What libraries write

Every type of zod 3 and 4.0 to 4.6, as \`openai\`, \`ai\`, LangChain, instructor, LlamaIndex and OpenAI's agents send it, and every type of
pydantic 2 compile (\`test/clients/schemas\`), with these exceptions:

- A schema that no value fits is refused: \`never\` and \`nan\`; an intersection of two objects that the library has closed; zod 3's
  \`cidr()\` without a version.
- A reference to nothing is refused: instructor leaves out the definition of a type that is used twice, or that refers to itself.

No library writes \`refine\` or \`trim\`, and instructor nothing for zod 4.

## Sampling and the end of an answer

Tokens that the grammar forbids get a logit of −∞ first (log-probabilities show −9999), then come bias, penalties, top_k, top_p and min_p.

An answer can end only where its text is complete, and ends where nothing can follow, with \`finish_reason: "stop"\`, whatever \`min_tokens\` and
\`ignore_eos\` say. A stop text or token may cut it off.

What can only be completed with a text of \`bad_words\` is never begun; where nothing is left, the request is a 400
\`no_token_possible\`. It comes later, in a stream as an error event, only where a grammar continues without end towards a banned text,
\`allowed_token_ids\` cannot spell the rest, or in arrays of \`uniqueItems\`.

## What is not drawn

Where the grammar allows only one text (names of fields after their quotes, \`const\`, the rest of an \`enum\` value), it is written in one step.
Such tokens use no random number and no penalty; \`usage\` counts them. With \`allowed_token_ids\`, \`logit_bias\`, \`bad_words\` or
\`min_tokens\` every token is drawn ([why](decisions/0044-the-only-text-is-not-drawn.md)).

## Limits

A constraint is refused as too large with more than 256 ways in which branches combine, 128 levels of nesting in a schema, 4,000 states of a
pattern, counted together with its lengths, 900 optional members of an object that may come first, 20,000 grammar rules, or 1 MiB of grammar.

## How much of the world's schemas

\`npx node packages/constraints/benchmark/maskbench.ts --folder jsonschemabench/maskbench/data\` over the schemas of [MaskBench](https://github.com/guidance-ai/jsonschemabench):

| Engine | Compiled | Every test right | Valid accepted | Invalid accepted |
|---|---|---|---|---|
| Heddle, all 8,845 that can be read (2026-11-23) | 97.9 % | 93.0 % | 94.3 % of 10,609 | 0 of 16,304 |
| \`@mlc-ai/web-xgrammar\` 0.1.27, over 600 of them (seed 1) | 99.2 % | 73.3 % | 95.2 % of 748 | 371 of 1,249 |

Valid values that are refused mostly have members that their schema does not list. A schema compiles in 0.6 ms at the median, 189 ms at most.
`
}
