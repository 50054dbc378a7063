import { mostInAnyOrder } from '../src/inference/constraints/schema/any-order.ts'
import { formats, numberFormats } from '../src/inference/constraints/schema/formats/formats.ts'
import { keywords } from '../src/inference/constraints/schema/keywords.ts'
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

With \`continue_final_message\`, and in the Messages API behind a last message of the assistant, the constraint is about that message
and the answer together: what is given begins what fits, and the answer is the rest of it.

\`\`\`json
{"messages": [{"role": "user", "content": "Name a city."}, {"role": "assistant", "content": "{ \\"city\\" : \\"Par"}],
 "add_generation_prompt": false, "continue_final_message": true,
 "structured_outputs": {"json": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}
\`\`\`

| Given | What becomes of it |
|---|---|
| JSON for a schema or \`json_object\` | read with any white space that JSON allows, also where the answer itself may write none. Space behind a number ends it |
| text for a \`regex\`, \`choice\`, \`grammar\` or \`structural_tag\` | read character by character |
| a whole text that fits | the answer is empty, or more of it where more fits |
| a thought that is open (\`<think>…\` where the template shows thoughts so, in letters) | the constraint begins behind the thought; behind one that is closed, with what stands there |
| content beside tools of \`"tool_choice": "auto"\` | no call: the content has begun |
| content where a call is required or a tool is named | as without: the call follows, and its arguments alone are constrained |
| what cannot become a text that fits | 400 \`continued_text_unfit\`: the field, the character, and what would be accepted there |
| more than 200,000 steps to read, which is one for a character and some more in lists whose items are remembered | 400 \`constraint_too_large\` |

The \`prompt\` of \`/v1/completions\` is no such text: there the constraint is about the answer alone.
[Decision 33](decisions/0033-a-constraint-reads-what-is-continued.md) has the reasons.

## Kinds of constraints

\`response_format\` takes \`json_object\`, \`json_schema\` and \`structural_tag\` as its \`type\`. \`structured_outputs\` takes one of these fields:

| Field | The answer is |
|---|---|
| \`json\` | a JSON value that fits the schema |
| \`json_object\` | any JSON object |
| \`regex\` | a text that the whole expression matches. ECMAScript with the flag \`u\`; lazy repetitions match like greedy ones. Up to 32 look-arounds, word boundaries and anchors inside; flags in groups (\`(?i:…)\`). Back-references are refused |
| \`choice\` | exactly one of the texts |
| \`grammar\` | a text of the grammar, in GBNF with \`::=\`. Lark, tokens (\`<[65]>\`), left recursion and undefined rules are refused. Of one that is ambiguous without end only a bounded number of ways is followed: each answer fits, but not every text can be said |
| \`structural_tag\` | free text; from a trigger on, what the tag prescribes until its end. Both forms, \`structures\` with \`triggers\` and \`format\` |

A request has one constraint. \`response_format\` and \`structured_outputs\` may both be present when they say the same, or when
\`structured_outputs\` only says how JSON is written (\`disable_any_whitespace\`, \`whitespace_pattern\`, \`disable_additional_properties\`,
\`any_order\`).
\`strict\` changes nothing: every schema is enforced.

## How JSON is written

| | |
|---|---|
| Order of members | that of \`properties\`, optional members may be left out, then other members. \`any_order: true\` lets declared members come in any order, in objects of up to ${mostInAnyOrder} of them; larger ones are refused |
| White space | nothing, one space, or a line break with up to 32 spaces or tabs between parts; nothing or one space after a colon; none around the value. \`disable_any_whitespace\` forbids it, \`whitespace_pattern\` replaces it |
| Numbers | integers up to 19 digits, decimals up to 21 digits before the point and 22 after it, exponents up to 307 |
| Strings | no raw control characters. A string with a \`pattern\`, a \`format\` or a forbidden value is escaped as by JSON.stringify |
| \`enum\`, \`const\` | as they were given; numbers also without an exponent and without zeros behind a fraction |

## Objects are closed by default

An object that lists \`properties\` and says nothing about others has no others. \`allOf\`, \`$ref\` and the branch that is taken count as
part of the object. An object stays open when it

- says something about others: \`additionalProperties\`, \`patternProperties\`, \`unevaluatedProperties\` or \`propertyNames\`;
- lists no \`properties\`; or
- needs more members (\`minProperties\`) than it lists.

A \`required\` name is possible whether it is listed or not. \`disable_additional_properties\` in \`structured_outputs\` changes the default:
\`false\` leaves objects as open as JSON Schema does; \`true\` closes every object that lists members and has neither
\`additionalProperties\` nor \`unevaluatedProperties\`. [Decision 12](decisions/0012-objects-are-closed-by-default.md) has the reasons.

In an open object, names that are not declared may repeat, and the last value counts. Where that matters (\`minProperties\` above
one) the names that were written are remembered, and none is written twice.

## Keywords

JSON Schema drafts 3 to 2020-12, by \`$schema\`, and where it is absent by how the schema is written. As in the standard, a keyword
restricts only values of its own type: add \`type\` to exclude the others. A keyword of a later draft holds in an earlier one too.

| Draft | What it says differently |
|---|---|
| 3 | \`required: true\` in a member, \`extends\`, \`disallow\`, \`divisibleBy\`, the type \`any\`, schemas in \`type\`, \`dependencies\` on one name |
| 3, 4 | \`id\` is the identifier; \`exclusiveMinimum\` and \`exclusiveMaximum\` are true or false beside their bound |
| 3 to 2019-09 | a list of \`items\` is by place, and \`additionalItems\` is about the others; \`prefixItems\` leaves \`items\` as it is |
| 4 to 7 | \`definitions\` and \`dependencies\`, which later drafts have under other names; both are read in all of them |
| 6 on | \`$id\` is the identifier, and bounds that are left out are numbers |
| 2019-09, 2020-12 | \`$anchor\`, \`$recursiveRef\`, \`$dynamicRef\` |

Without \`$schema\`, a \`required\` that is true or false, \`divisibleBy\` and \`disallow\` are of draft 3; an \`id\` and bounds that are
true or false of draft 4; \`definitions\`, \`dependencies\` and lists of \`items\` of draft 7; all else is of draft 2020-12.

| Keyword | What is supported |
|---|---|
${rows.join('\n')}

Negation (\`not\`, \`if\`, and branches of \`oneOf\` that could hold at the same time) works for everything but
\`uniqueItems\`, \`additionalItems\`, \`unevaluatedProperties\` beside other schemas, \`contains\` with counts, lists or objects with
parts in \`enum\` and \`const\`, and more than five keywords about other members at once. A member that breaks such a keyword comes last
among those of its kind, because names may repeat.

\`uniqueItems\` remembers the items that were written, whatever they are: none is written that is equal to one before it, and none is
begun of which all that could follow were equal. In such items numbers have no exponent and no zeros behind a fraction, and strings are
escaped as by JSON.stringify; members stand in the order in which the schema first has their names. It is refused beside \`contains\`,
around other lists that are remembered (unless these stand in an open object), where members that are not declared are bounded in
number, or are in one of several kinds of objects, and where it is not certain that there are as many different items as \`minItems\`
asks for. For arguments of tools it is given up, and named.

Annotations are ignored: ${annotations.join(', ')}, and every name that is no keyword, as the standard has it. One that is a letter
away from a keyword (\`requried\`) is named in the header \`x-heddle-schema-notes\`, percent-encoded, and in the log:
\`#/properties/a requried: required?\`. \`HEDDLE_UNKNOWN_KEYWORDS=refuse\` refuses every name that is no keyword and does not
begin with \`x-\`.

## Formats

A string is never accepted that the standard rejects. Where less than the standard is generated, the table says so.

| Format | Standard | Restriction |
|---|---|---|
${texts.join('\n')}
${numbers.join('\n')}

Any other format only describes, and is ignored. So does one beside a \`pattern\` that excludes it: zod writes the format \`time\` beside
the pattern of a time without a zone, and then the pattern decides.

## What libraries write

Every type of zod 3 and 4.0 to 4.6, as \`openai\`, \`ai\`, LangChain, instructor, LlamaIndex and OpenAI's agents send it, and every type
of pydantic 2 compile, with these exceptions; \`test/clients/schemas\` goes through all of them.

- A schema that no value fits is refused, as no answer could be given: \`never\` and \`nan\`; an intersection of two objects that the
  library has closed each by itself; zod 3's \`cidr()\` without a version, which is sent as an address of both.
- A reference to nothing is refused: instructor leaves out what a type that is used twice, or that names itself, refers to.

Some say less than they check: zod 3 writes nothing of \`base64url\`, \`cidr\` or \`jwt\` for OpenAI, no library writes \`refine\` or \`trim\`,
and instructor writes nothing at all of zod 4. What they check beyond the schema they refuse by themselves.

## Sampling and the end of an answer

Tokens that the grammar does not allow get a logit of −∞ before anything else; log-probabilities show them as −9999. Bias, penalties, top_k,
top_p and min_p apply after that. Special tokens are never allowed.

A token that ends the answer can be drawn only where the text is complete. Where nothing can follow, the answer ends with its last token,
with \`finish_reason: "stop"\` and \`stop_reason: null\`; \`min_tokens\` and \`ignore_eos\` do not prolong it. A stop text or a stop token ends
the answer where it occurs, so it may cut the answer off.

When \`allowed_token_ids\`, \`bad_words\` or \`min_tokens\` leave no token that the grammar allows, the request fails with
\`no_token_possible\`, in a stream as an error event. Beam search takes no constraint.

## What is not drawn

Where the grammar leaves one text alone (names of fields behind their quotes, \`const\`, the rest of an \`enum\` value, fixed parts of a
format), nothing is drawn: the answer goes on with that text, cut into tokens as the tokenizer cuts it, up to the first place where a token
could reach beyond it. All of it is computed in one step ([guessing ahead](speculation.md)). Such tokens take no random number;
\`usage\` counts them, and log-probabilities say how likely the model held this cut among those that the grammar allows. Penalties do not
touch them. With \`allowed_token_ids\`, \`logit_bias\`, \`bad_words\` or \`min_tokens\` every token is drawn, and the model cuts the text as
it likes. White space that may stand there or not is a choice: \`disable_any_whitespace\` makes more of a JSON text the only one.

## How much of the world's schemas

Measured as sent over the 8,845 that can be read, and before over 600 (seed 1), of [MaskBench](https://github.com/guidance-ai/jsonschemabench) with
\`benchmarks/maskbench.ts\` (on a machine of two cores; values in the order of the schema for Heddle, in their own for XGrammar):

| Engine | Compiled | Every test right | Valid accepted | Invalid accepted |
|---|---|---|---|---|
| Heddle, as sent, all 8,845 (2026-11-23) | 97.9 % | 93.0 % | 94.3 % of 10,609 | 0 of 16,304 |
| Heddle, \`disable_additional_properties: false\`, before members could be negated | 95.7 % | 94.3 % | 98.4 % of 734 | 0 of 1,222 |
| \`@mlc-ai/web-xgrammar\` 0.1.27, beside it over the 600 | 99.2 % | 73.3 % | 95.2 % of 748 | 371 of 1,249 |

Published for all of MaskBench: llguidance passes 79 %, XGrammar 72 to 82 %, llama.cpp 58 %. The valid values that are refused as sent
mostly have members that their schema does not list. What is refused mostly has branches that combine in too many ways. Thirteen of
them fit no value: they require members of which their \`oneOf\` allows some only. Over all of them,
on a quiet machine and by the clock, a schema compiles in 0.6 ms at the median, 40 ms at the 99th percentile and 189 ms at most. With
128,000 tokens a mask takes 0.04 ms at the median, 0.2 ms at the 99th percentile and 0.8 ms at most, the first of an answer at most 0.4 ms,
over the first 60 that compile and have a valid value, each place the least of five rounds. Over 300 others (least of three) the most of 45,475
masks was 6.2 ms.

On 395 schemas that are at hand (300 in the styles of MaskBench, those of the tests, and 53 large ones: enums of thousands, deep and
dense references, unions of 60 kinds, 400 optional members, large patterns) compiling takes 2 ms at the median, 60 ms at the 99th
percentile and 85 ms at most. A mask of 128,000 tokens at a new place takes 0.06 ms at the median, 0.17 ms at the 99th percentile and
0.23 ms at most over 60 of the first kind, each the least of five rounds, so that neither the collector nor other processes count; in one round
single ones take up to 20 ms. Over the large schemas it is 0.1 ms at the median, 1.8 ms at the 99th percentile and 11 ms at most (in the
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
