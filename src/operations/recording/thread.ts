import type { IncomingHttpHeaders } from 'node:http'
import { JsonText } from '../../domain/json/text.ts'

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
}

/** The thread of a request that does not name one in `x-heddle-thread`. */
export function threadOf(headers: IncomingHttpHeaders, { session_id, metadata }: Named): string | null {
  if (session_id != null) return session_id
  const members = membersOf(metadata)
  const candidates = [
    ...headerNames.map((name) => headers[name]),
    ...metadataNames.map((name) => members[name]),
    sessionOfUser(members.user_id),
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
