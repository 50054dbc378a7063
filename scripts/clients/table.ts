import { readFileSync } from 'node:fs'
import { type Client, clients } from './rows.ts'

/** What record-runs.mjs notes of a file that passed whole. */
export interface Run {
  date: string
  tests: number
  packages: Record<string, string>
}

export const runs: Readonly<Record<string, Run>> = JSON.parse(
  readFileSync(new URL('../../test/clients/runs.json', import.meta.url), 'utf8'),
)

export function runOf(file: string): Run {
  const run = runs[`${file}.test.ts`]
  if (run === undefined) throw new Error(`test/clients/runs.json has no run of ${file}.test.ts: record one`)
  return run
}

/** A second version of a package is installed under a name with a number. */
const isSecond = (name: string) => /-\d+$/.test(name)

function versionsOf({ name, seen }: Client, ran: readonly Run[]): string {
  if (!('packages' in seen)) return ''
  const versions = seen.packages.map((packageName, index) => {
    const version = ran.find(({ packages }) => packages[packageName])?.packages[packageName]
    if (version === undefined)
      throw new Error(`test/clients/runs.json: no run of ${name} used ${packageName}`)
    return index === 0 || isSecond(packageName) ? version : `${packageName} ${version}`
  })
  return versions.join(', ')
}

/** What ran, when, and the number of tests. */
function cellsOf(client: Client): [ran: string, date: string, tests: string] {
  const { seen } = client
  if ('byHand' in seen) return [`${seen.byHand}, by hand`, seen.on, 'none']
  if ('notRun' in seen) return [seen.notRun, 'not run here', '']
  const ran = seen.files.map(runOf)
  const [oldest = ''] = ran.map(({ date }) => date).sort()
  const count = ran.reduce((sum, { tests }) => sum + tests, 0)
  const what =
    'packages' in seen ? versionsOf(client, ran) : ['requests', seen.requestsOf].filter(Boolean).join(' of ')
  return [what, oldest, String(count)]
}

const [begin, end] = ['<!-- generated -->', '<!-- end -->']

/** The table in the page about clients. */
export function clientsPage(): string {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const [before = '', rest = ''] = page.split(begin)
  const [, after] = rest.split(end)
  if (after === undefined) throw new Error('docs/clients.md has lost the marks around its table')
  const rows = clients.map(
    (client) => `| ${[client.name, ...cellsOf(client), client.works, client.needs].join(' | ')} |`,
  )
  return `${before}${begin}
| Client | Ran | On | Tests | Works | Needs |
|---|---|---|---|---|---|
${rows.join('\n')}
${end}${after}`
}
