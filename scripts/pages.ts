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

Settings are environment variables.

- The server refuses to start with a variable that begins with \`HEDDLE_\` and is not in the table.
- \`HOST\`, \`PORT\`, \`HF_ENDPOINT\` and \`HF_TOKEN\` work without the prefix too; the names with the prefix take precedence.
- Variables that Kubernetes sets for services (\`HEDDLE_SERVICE_HOST\`, \`HEDDLE_PORT=tcp://…\`) are ignored, which is logged.

| Variable | Default | Meaning |
|---|---|---|
${rows.join('\n')}
`
}

export function errorsPage(): string {
  const byStatus = Map.groupBy(Object.entries(refusals), ([, { status }]) => status)
  const sections = [...byStatus]
    .toSorted(([one], [other]) => one - other)
    .map(([status, ofStatus]) => {
      const rows = ofStatus
        .toSorted(([one], [other]) => one.localeCompare(other, 'en'))
        .map(([code, { help }]) => `| \`${code}\` | ${cell(help)} |`)
      const about = aboutStatus[status]
      return `## ${status}
${about === undefined ? '' : `\n${about}\n`}
| Code | Cause and remedy |
|---|---|
${rows.join('\n')}
`
    })
  return `${generated}

# Errors

Every refusal, by status. Match on the code, not on the message, which names the field, what was given and what would be accepted.

| Routes | Form of a refusal |
|---|---|
| under \`/v1\` | \`{"error": {"message", "type", "param", "code"}}\`, as the OpenAI SDKs read it |
| all others | \`{"reason": "…", "code": "…"}\`; the code \`invalid_request\` adds \`"detail": [{"loc": [...], "msg", "type"}]\` |

${sections.join('\n')}`
}

/** What holds for each refusal with this status. */
const aboutStatus: Readonly<Record<number, string>> = {
  404: 'The answer is the same for what is unknown, deleted, expired, or of another project or user, unless its row says more.',
  429: '`Retry-After` says when to try again.',
  503: '`Retry-After` says when to try again.',
}
