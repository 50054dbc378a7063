import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { measureHouse, type Row } from './house/rows.ts'

// How much a maintainer must read, as a table. A figure that got worse than the last that was accepted fails, unless it
// is within its aim. `--accept` stores today's figures where they are better.
const root = fileURLToPath(new URL('..', import.meta.url))
const limitsFile = fileURLToPath(new URL('house/limits.json', import.meta.url))
const limits: Record<string, number> = JSON.parse(readFileSync(limitsFile, 'utf8'))

const rows = measureHouse(root)
const limitOf = ({ name, aim, value }: Row) => Math.max(aim, limits[name] ?? value)
const worse = rows.filter((row) => row.value > limitOf(row))

const number = new Intl.NumberFormat('en')
console.log(`The house on ${new Date().toISOString().slice(0, 10)}\n`)
console.log('| | now | at most | aim |\n|---|---:|---:|---:|')
for (const row of rows) {
  const [value, limit, aim] = [row.value, limitOf(row), row.aim].map((figure) => number.format(figure))
  console.log(`| ${row.name}${worse.includes(row) ? ' **(worse)**' : ''} | ${value} | ${limit} | ${aim} |`)
}

if (process.argv.includes('--accept')) {
  const accepted = rows.map((row) => [row.name, Math.min(row.value, limitOf(row))])
  writeFileSync(limitsFile, `${JSON.stringify(Object.fromEntries(accepted), null, 2)}\n`)
}
if (worse.length > 0) {
  console.log(`\nWorse than before: ${worse.map(({ name }) => name).join('; ')}. What can go instead?`)
  process.exitCode = 1
}
