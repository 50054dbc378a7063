import type { Candidate, GenerationEvent, TokenLogprob } from '../backend.ts'

type Tokens = Extract<GenerationEvent, { kind: 'tokens' }>

/** An event in the form in which it is sent to the server. */
export type SentEvent =
  | Exclude<GenerationEvent, Tokens>
  | (Omit<Tokens, 'logprobs'> & { logprobs?: SentLogprobs })

/**
 * Logprobs as a few flat lists: serializing them as objects, each with its own bytes, takes Node ten times as long.
 * Each token is followed by its likeliest candidates.
 */
interface SentLogprobs {
  tokens: number[]
  logprobs: number[]
  /** Where the bytes of each end. */
  ends: number[]
  /** The bytes of all, one character per byte. */
  bytes: string
  /** The number of candidates of each token. */
  tops: number[]
}

export function sentEvent(event: GenerationEvent): SentEvent {
  if (event.kind !== 'tokens') return event
  const { logprobs, ...others } = event
  return logprobs === undefined ? others : { ...others, logprobs: sentLogprobs(logprobs) }
}

export function receivedEvent(event: SentEvent): GenerationEvent {
  if (event.kind !== 'tokens') return event
  const { logprobs, ...others } = event
  return logprobs === undefined ? others : { ...others, logprobs: receivedLogprobs(logprobs) }
}

function sentLogprobs(all: readonly TokenLogprob[]): SentLogprobs {
  const sent: SentLogprobs = { tokens: [], logprobs: [], ends: [], bytes: '', tops: [] }
  const add = ({ token, logprob, bytes }: Candidate) => {
    sent.tokens.push(token)
    sent.logprobs.push(logprob)
    sent.bytes += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    sent.ends.push(sent.bytes.length)
  }
  for (const entry of all) {
    add(entry)
    for (const likely of entry.top) add(likely)
    sent.tops.push(entry.top.length)
  }
  return sent
}

function receivedLogprobs({ tokens, logprobs, ends, bytes: text, tops }: SentLogprobs): TokenLogprob[] {
  const { buffer, byteOffset } = Buffer.from(text, 'latin1')
  let next = 0
  const take = (): Candidate => {
    const from = ends[next - 1] ?? 0
    const candidate = {
      token: tokens[next] as number,
      bytes: new Uint8Array(buffer, byteOffset + from, (ends[next] as number) - from),
      logprob: logprobs[next] as number,
    }
    next++
    return candidate
  }
  return tops.map((count) => ({ ...take(), top: Array.from({ length: count }, take) }))
}
