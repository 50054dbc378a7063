import { settings, variableOf } from '../src/config.ts'
import { refusals } from '../src/domain/refusals.ts'

export const generated = '<!-- Made by `npm run docs:generate`; do not edit. -->'

/** A text as a table cell; the name of a docs page in it becomes a link to that page. */
export const cell = (text: string) =>
  text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replace(/\bdocs\/([\w-]+\.md)/g, '[docs/$1]($1)')

export function configurationPage(): string {
  const rows = Object.entries(settings).map(
    ([name, { initial, shown, meaning }]) =>
      `| \`${variableOf(name)}\` | ${shown === initial || /^\d+$/.test(shown) ? `\`${cell(shown)}\`` : cell(shown)} | ${cell(meaning)} |`,
  )
  return `${generated}

# Settings

Every setting of the server, its default and its meaning. Settings are environment variables.

- The server refuses to start with a variable that begins with \`HEDDLE_\` and is not in the table. The error names the variable, and
  the setting that was probably meant.
- \`HOST\`, \`PORT\`, \`HF_ENDPOINT\` and \`HF_TOKEN\` work without the prefix too; the names with the prefix take precedence.
- Variables that Kubernetes sets for services (\`HEDDLE_SERVICE_HOST\`, \`HEDDLE_PORT=tcp://…\`) are ignored, which is logged.

| Variable | Default | Meaning |
|---|---|---|
${rows.join('\n')}
`
}

export function errorsPage(): string {
  const rows = Object.entries(refusals)
    .sort(([a, one], [b, other]) => one.status - other.status || a.localeCompare(b, 'en'))
    .map(
      ([code, { status, message, help }]) => `| ${status} | \`${code}\` | ${cell(message)} | ${cell(help)} |`,
    )
  return `${generated}

# Errors

Every refusal: its status, its code, its message, its cause and what to do. Match on the code, not on the text. A message names the
field, what was given and what would be accepted; \`{…}\` stands for such a value. Every answer has an \`x-request-id\`, which the log repeats.

| Routes | Form of a refusal |
|---|---|
| under \`/v1\` | \`{"error": {"message", "type", "param", "code"}}\`, as the OpenAI SDKs read it |
| all others | \`{"reason": "…", "code": "…"}\`; the code \`invalid_request\` adds \`"detail": [{"loc": [...], "msg", "type"}]\` |

| Status | Code | Message | Cause and remedy |
|---|---|---|---|
${rows.join('\n')}
`
}
