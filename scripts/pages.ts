import { settings, variableOf } from '../src/config.ts'
import { refusals } from '../src/domain/refusals.ts'

const generated = '<!-- Made by `npm run docs:generate`; do not edit. -->'

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

export function configurationPage(): string {
  const rows = Object.entries(settings).map(
    ([name, { shown, meaning }]) => `| \`${variableOf(name)}\` | \`${cell(shown)}\` | ${cell(meaning)} |`,
  )
  return `${generated}

# Settings

Every setting is an environment variable. \`HOST\` and \`PORT\` without the prefix work too; the names with it win. A
variable that begins with \`HEDDLE_\` and is not in this table stops the server with a line that names it. What Kubernetes
says of services (\`HEDDLE_SERVICE_HOST\`, \`HEDDLE_PORT=tcp://…\`) is left aside, and the log says so.

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

Match on the code, not on the text. A message names the field, what was given and what would be accepted; \`{…}\` is filled
in. Every answer carries \`x-request-id\`, which the log repeats.

Under \`/v1\` a refusal is \`{"error": {"message", "type", "param", "code"}}\`, as the OpenAI SDKs read it. Elsewhere it is
\`{"reason": "…", "code": "…"}\`; one with code \`invalid_request\` adds \`"detail": [{"loc": [...], "msg", "type"}]\`.

| Status | Code | Message | What to do |
|---|---|---|---|
${rows.join('\n')}
`
}
