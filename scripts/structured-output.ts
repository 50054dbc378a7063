import { formats, numberFormats, otherFormats } from '../src/inference/constraints/schema/formats.ts'
import { keywords } from '../src/inference/constraints/schema/keywords.ts'
import { cell, generated } from './pages.ts'

/** What a constraint may say, from the compiler's own lists. */
export function structuredOutputPage(): string {
  const named = Object.entries(keywords)
  const rows = named.flatMap(([name, keyword]) =>
    keyword.standing === 'honoured' ? [`| \`${name}\` | ${cell(keyword.note)} |`] : [],
  )
  const annotations = named.flatMap(([name, { standing }]) =>
    standing === 'annotation' ? [`\`${name}\``] : [],
  )
  const refused = named.flatMap(([name, keyword]) =>
    keyword.standing === 'refused' ? [`| \`${name}\` | ${cell(keyword.why)} |`] : [],
  )
  const texts = Object.entries(formats).map(
    ([name, { standard, bound = '' }]) => `| \`${name}\` | ${cell(standard)} | ${cell(bound)} |`,
  )
  const numbers = Object.entries(numberFormats).map(
    ([name, [least, most]]) => `| \`${name}\` | a whole number from ${least} to ${most} | |`,
  )
  return `${generated}

# Structured output

What a constraint says is what comes out, character for character, in a stream or not. A constraint becomes a grammar before the
answer begins, of a chat or of a text (\`/v1/completions\`); what cannot be kept is refused with a 400 that names the keyword and its path, never ignored. An answer that ends with
\`finish_reason: "length"\` is cut off, and then only the beginning of what fits.

| Kind | What comes out |
|---|---|
| \`json\` | A JSON value that fits the schema |
| \`json_object\` | Any JSON object |
| \`regex\` | A text that the expression matches as a whole. ECMAScript with the flag \`u\`; lazy repetitions are repetitions. Look-around, back-references, word boundaries and flags in groups are refused |
| \`choice\` | Exactly one of the texts |
| \`grammar\` | A text of the grammar, in GBNF with \`::=\`. Lark, tokens (\`<[65]>\`), left recursion and undefined rules are refused |
| \`structural_tag\` | Free text; from a trigger on, what the tag says until its end. Both forms, \`structures\` with \`triggers\` and \`format\` |

## How JSON is written

Members come in the order of \`properties\`, those that are not required may be left out, others follow. Between the parts stands
nothing, one space, or a line break with up to 32 spaces or tabs; behind a colon nothing or one space. None stands around the whole.
White space can be switched off, or given as a pattern. Whole numbers have up to 19 digits, decimals up to 21 before the point and 22
behind it, exponents end at 307. Strings have no raw control characters; a string with a \`pattern\`, a \`format\` or a forbidden value is
written with the escapes of JSON.stringify. Values of \`enum\` and \`const\` are written as they were given.

An object that names members in \`properties\` and says nothing of others has no others: closed by default, as what asks for such an
object means it. What stands beside it in \`allOf\`, \`$ref\` and the branch that is taken counts as one with it. Open stays what says
something of others (\`additionalProperties\`, \`patternProperties\`, \`unevaluatedProperties\`, \`propertyNames\`), what names none, and
what needs more members by \`minProperties\` than it names. A name that is \`required\` is possible, declared or not.
\`disable_additional_properties\` in \`structured_outputs\` changes that: \`false\` leaves objects as open as JSON Schema has them, \`true\`
closes all that list members and have neither \`additionalProperties\` nor \`unevaluatedProperties\`. The reasons are in
docs/decisions/0012. In open objects names that are not declared may repeat, as nothing remembers them; where that would
matter (\`minProperties\` above one) the schema is refused.

## Keywords

Drafts 6, 7, 2019-09 and 2020-12. A keyword without \`type\` beside it says nothing of other types, as the standard has it.

| Keyword | |
|---|---|
${rows.join('\n')}

Negation (\`not\`, \`if\`, and the branches of \`oneOf\` that could hold together) works for everything but \`multipleOf\`,
\`uniqueItems\`, \`patternProperties\`, \`propertyNames\`, \`additionalProperties\`, \`additionalItems\` and
\`unevaluatedProperties\` with a schema, \`contains\` with counts, and lists or objects with parts in \`enum\` and \`const\`.

These describe, and are ignored: ${annotations.join(', ')}, and every keyword that begins with \`x-\`.

Any other keyword is refused, as are:

| Keyword | Why |
|---|---|
${refused.join('\n')}

## Formats

What is accepted is never wider than the standard; where it is narrower, the table says so.

| Format | Standard | Left out |
|---|---|---|
${texts.join('\n')}
${numbers.join('\n')}

${otherFormats.map((name) => `\`${name}\``).join(', ')} say nothing that could be kept, and are ignored. Any other format is refused.

## How answers are drawn and end

What the grammar does not allow counts as −∞ before anything else, also before log-probabilities are taken, where it shows as −9999.
Then bias, penalties and cuts have their effect as ever. A token that ends the answer can be drawn only where the text is complete. Where
nothing can follow, the answer ends with its last token, \`finish_reason: "stop"\` and \`stop_reason: null\`; no end token is drawn, and
neither \`min_tokens\` nor \`ignore_eos\` prolongs it. Special tokens are never part of it.

A stop text or a stop token ends the answer where it comes up, and so may cut it off. When \`allowed_token_ids\`, \`bad_words\` or
\`min_tokens\` leave no token that the grammar allows, the request is refused with \`no_token_possible\`, in the middle of a stream as an
event. A beam search takes no constraint.

There is one constraint in a request. \`response_format\` and \`structured_outputs\` may both be there when they say the same, or when
\`structured_outputs\` only says how JSON is written (\`disable_any_whitespace\`, \`whitespace_pattern\`,
\`disable_additional_properties\`). \`strict\` changes nothing: every schema is kept.

## Bounds

A compilation takes a bounded number of steps, some tenths of a second at most, and is kept for the next request with the same
constraint. Refused as too large are branches that combine in more than 256 ways, schemas nested deeper than 128 levels, patterns of more
than 4000 states (counted together with their lengths), objects of which more than 900 optional members may come first, and
grammars above 20,000 rules or a mebibyte.
`
}
