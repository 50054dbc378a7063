import { parseArgs } from 'node:util'
import type { Config } from '../config.ts'
import { formatTime, parseTime } from '../domain/time.ts'
import { boundTo } from '../storage/transaction.ts'
import { type AuditEntry, streamAudit } from '../storage/users/audit.ts'
import { readUsage, type UsageDay } from '../storage/users/usage.ts'
import { type Command, usageError, withRecord } from './command.ts'
import { untilTheEnd } from './operator.ts'

const usageAtOnce = 1_000
const day = /^\d{4}-\d\d-\d\d$/

/** Reports of usage and of the audit log. */
export const reportCommands: Record<string, Command> = {
  usage: {
    usage: '[--user NAME] [--from DAY] [--to DAY] [--json]',
    summary: 'Show the usage of users by UTC day, the latest first',
    more: 'A running server adds its counts every few seconds. --json prints one JSON object per line.',
    async run(args, config, print) {
      const { user, json, ...times } = optionsOf(args, { user: { type: 'string' } })
      const { from, to } = times
      dayOf('from', from)
      dayOf('to', to)
      if (!json) print(row(['day', 'user', 'requests', 'refused', 'prompt tokens', 'completion tokens']))
      for await (const found of allUsage(config, { user, from, to })) {
        const { user_name, ...counted } = found
        print(json ? JSON.stringify({ user: user_name, ...counted }) : row(cellsOf(found)))
      }
    },
  },
  audit: {
    usage: '[--from DAY] [--to DAY] [--json]',
    summary: 'Show what was done with users, keys and settings, and what was deleted, the earliest first',
    more: 'The log only grows: the database refuses to change it. --json prints one JSON object per line.',
    async run(args, config, print) {
      const { from, to, json } = optionsOf(args, {})
      const times = { from: dayOf('from', from) ?? 0, until: (dayOf('to', to) ?? lastDay) + dayMicros - 1 }
      await withRecord(config, async (db) => {
        for await (const entries of streamAudit(boundTo(db, untilTheEnd), times)) {
          for (const entry of entries) print(json ? JSON.stringify(recordOf(entry)) : lineOf(entry))
        }
      })
    },
  },
}

const dayMicros = 86_400_000_000
const lastDay = Number.MAX_SAFE_INTEGER - dayMicros

function optionsOf(args: readonly string[], more: { user?: { type: 'string' } }) {
  const times = { from: { type: 'string' }, to: { type: 'string' }, json: { type: 'boolean' } } as const
  const { values } = parseArgs({ args: [...args], options: { ...times, ...more } })
  return values as { from?: string; to?: string; json?: boolean; user?: string }
}

/** The first microsecond of the day. */
function dayOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = day.test(text) ? parseTime(text) : undefined
  if (time !== undefined) return time
  throw usageError(`--${option}: given ${text}; accepted: a UTC day such as 2026-11-22.`)
}

/** Read in pages, because the days of many users add up. */
async function* allUsage(
  config: Config,
  filter: { user?: string | undefined; from?: string | undefined; to?: string | undefined },
): AsyncGenerator<UsageDay> {
  for (let offset = 0; ; offset += usageAtOnce) {
    const view = { ...filter, limit: usageAtOnce, offset }
    const days = await withRecord(config, (db) => readUsage(db, view))
    yield* days
    if (days.length < usageAtOnce) return
  }
}

const cellsOf = (found: UsageDay) => [
  found.day,
  found.user_name,
  ...[found.requests, found.refused, found.prompt_tokens, found.completion_tokens].map(String),
]

const row = ([first = '', second = '', ...numbers]: string[]) =>
  `${first.padEnd(10)}  ${second.padEnd(24)}${numbers.map((cell) => cell.padStart(18)).join('')}`

const recordOf = ({ at, details, ...entry }: AuditEntry) => ({
  ...entry,
  at: formatTime(at),
  details: JSON.parse(details) as unknown,
})

function lineOf({ at, via, actor, action, project_id, count, details }: AuditEntry): string {
  const who = `${actor ?? 'unknown'}${via === null || via === 'http' ? '' : ` (${via})`}`
  const what = [action, project_id, count === null ? null : `${count} ids`, details === '{}' ? null : details]
  return `${formatTime(at).padEnd(24)}  ${who}  ${what.filter((column) => column !== null).join('  ')}`
}
