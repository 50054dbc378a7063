import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Caller } from '../../domain/callers.ts'
import { plainText, projectId, traceId } from '../../domain/fields.ts'
import { callIdPattern, isCompletionId } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { grantsOf, mayWith } from '../../domain/roles.ts'
import { type CodingAgent, type Conversing, turnHeaders, withFolder } from './agent-requests.ts'
import type { RecordingTarget } from './answer.ts'

export const projectHeader = 'x-heddle-project'
export const parentHeader = 'x-heddle-parent'
export const traceHeader = 'x-heddle-trace'
export const recordHeader = 'x-heddle-record'
export const threadHeader = 'x-heddle-thread'

const thread = plainText(512).min(1)
const parentName = plainText(1024).refine((name) => callIdPattern.test(name) || isCompletionId(name))

/** Where the headers of a request put its call. They are checked even if nothing is recorded. */
export function recordingTarget(caller: Caller, headers: IncomingHttpHeaders): RecordingTarget {
  const header = <Type extends z.ZodType<string>>(name: string, type: Type, accepted: string) => {
    const text = textOf(headers[name])
    if (text === undefined || type.safeParse(text).success) return text
    throw wrong(name, shown(text), accepted)
  }
  const record = textOf(headers[recordHeader])
  if (record !== undefined && record !== 'off' && record !== 'on')
    throw wrong(recordHeader, shown(record), 'on or off')
  const parent = header(parentHeader, parentName, 'the id of a call or of a completion')
  const trace = header(traceHeader, traceId, 'the id of a trace: a UUID or 32 hexadecimal digits')
  const remote = parent === undefined && trace === undefined ? remoteParentOf(headers.traceparent) : undefined
  return {
    project: header(projectHeader, projectId, '<entity>/<project>') ?? projectOf(caller),
    thread: header(threadHeader, thread, 'a string of 1 to 512 characters') ?? null,
    parent: parent ?? remote?.parent ?? null,
    trace: trace ?? remote?.trace ?? null,
    ...(remote && { isTraced: true }),
    isOff: record === 'off',
    isAsked: record === 'on',
    agent: codingAgentOf(headers),
  }
}

/**
 * With the conversation of the request. Where a coding agent sends its spans is not known: until they are here, its
 * answers are turns, in the trace that it names.
 */
export function inConversation(
  target: RecordingTarget,
  headers: IncomingHttpHeaders,
  body: Named & Conversing,
): RecordingTarget {
  const thread = target.thread ?? threadOf(headers, body)
  const agent = target.agent && withFolder(target.agent, body)
  const parent = target.isTraced && agent && thread !== null ? null : target.parent
  return { ...target, thread, agent, parent }
}

/** What a request says of its client and its turn, which is asked again later. */
export const headersOfTurn = ({ headers }: { headers: IncomingHttpHeaders }) =>
  Object.fromEntries(
    [...turnHeaders, 'user-agent', 'originator', 'traceparent'].flatMap((name) => {
      const text = textOf(headers[name])
      return text === undefined ? [] : [[name, text]]
    }),
  )

/** Claude Code and Codex name themselves in the headers that name a program. */
const codingAgents = [
  ['claude-code', 'user-agent', /^claude-cli\/(\d[\w.-]{0,63})?/],
  ['codex', 'user-agent', /^codex_\w+\/(\d[\w.-]{0,63})?/],
  ['codex', 'originator', /^codex_/],
] as const

function codingAgentOf(headers: IncomingHttpHeaders): CodingAgent | undefined {
  for (const [name, header, form] of codingAgents) {
    const found = form.exec(textOf(headers[header]) ?? '')
    if (found !== null) return { name, ...(found[1] !== undefined && { version: found[1] }) }
  }
  return undefined
}

/** The project of answers to a caller whose request names none. */
function projectOf(caller: Caller): string {
  const granted = grantsOf(caller)
  const { scope: first } = granted.find(({ role }) => mayWith([role], 'infer')) ??
    granted[0] ?? { scope: '*' }
  if (caller.settings?.default_project !== undefined) return caller.settings.default_project
  return first.includes('/') ? first : `${first === '*' ? 'main' : first}/default`
}

/** Clients send UTF-8, which Node reads as Latin-1. */
function textOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return header?.[0]
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}

const shown = (text: string) => JSON.stringify(text.slice(0, 300))

/** Future versions may append more (https://www.w3.org/TR/trace-context/#versioning-of-traceparent). */
const traceparent = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/

/**
 * The calling span, under the ids that it has when its own system sends it to /otel/v1/traces. An unreadable header is
 * ignored, as the standard requires: whoever forwards it need not be its author.
 */
function remoteParentOf(header: string | string[] | undefined) {
  const [, version, trace = '', parent = '', more] = traceparent.exec(String(header ?? '')) ?? []
  const isReadable = version !== undefined && (version !== '00' || more === undefined)
  return isReadable && !/^0+$/.test(trace) && !/^0+$/.test(parent) ? { trace, parent } : undefined
}

/**
 * Where clients name the session that a request belongs to, besides `x-heddle-thread`: headers of Claude Code and Codex,
 * old and new, and fields of the body.
 */
const headerNames = [
  'x-claude-code-session-id',
  'thread-id',
  'session-id',
  'conversation_id',
  'session_id',
] as const
const metadataNames = ['thread_id', 'session_id', 'conversation_id'] as const

/** Nobody addressed these to this server, so what cannot be a thread is ignored. */
const printable = /^[^\p{Cc}\p{Cs}]{1,512}$/u

interface Named {
  session_id?: string | null | undefined
  metadata?: unknown
  /** A conversation of OpenAI's wire. */
  conversation?: string | { id: string } | null | undefined
}

/** The thread of a request that does not name one in `x-heddle-thread`. */
export function threadOf(
  headers: IncomingHttpHeaders,
  { session_id, metadata, conversation }: Named,
): string | null {
  if (session_id != null) return session_id
  const members = membersOf(metadata)
  const candidates = [
    ...headerNames.map((name) => headers[name]),
    ...metadataNames.map((name) => members[name]),
    sessionOfUser(members.user_id),
    typeof conversation === 'string' ? conversation : conversation?.id,
  ]
  return candidates.find((text): text is string => typeof text === 'string' && printable.test(text)) ?? null
}

function membersOf(metadata: unknown): Record<string, unknown> {
  const value: unknown = metadata instanceof JsonText ? metadata.value : metadata
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Claude Code sends `{"device_id":…,"session_id":…}` as the id of its user; earlier versions joined them by `_session_`. */
function sessionOfUser(user: unknown): unknown {
  if (typeof user !== 'string') return undefined
  if (!user.startsWith('{')) return /^user_.*_session_([\w-]+)$/.exec(user)?.[1]
  try {
    return (JSON.parse(user) as { session_id?: unknown }).session_id
  } catch {
    return undefined
  }
}
