import { refuse } from '../../domain/refusals.ts'
import type { UpstreamAsk } from './asking.ts'
import { readingError } from './failures.ts'
import { textOf } from './pieces.ts'
import type { UpstreamServer } from './server.ts'

/** Asks what is answered with one object, of at most so many bytes. */
export async function askWhole(
  server: UpstreamServer,
  question: UpstreamAsk,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { answer, done } = await server.ask(question, signal)
  try {
    const value = objectOf(await textOf(answer, server.silenceMs, maxBytes))
    done()
    return value
  } catch (error) {
    done(error)
    throw readingError(error, signal)
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Reported below.
  }
  throw refuse('upstream_failed', { why: 'it sent something that is not an answer' })
}
