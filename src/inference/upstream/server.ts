import type { IncomingMessage } from 'node:http'
import { Refusal, refuse } from '../../domain/refusals.ts'
import { createSlots, type Slots } from '../../threads/slots.ts'
import { version } from '../../version.ts'
import {
  type Address,
  type Addresses,
  type GivenAddress,
  type ProbeTimes,
  watchAddresses,
} from './addresses.ts'
import {
  endpointOfUrl,
  openConnections,
  textOf,
  UnreachableError,
  type UpstreamEndpoint,
} from './exchange.ts'
import { isTemporary, refusalOf } from './failures.ts'
import type { UpstreamKind } from './kinds.ts'
import { type ListedModel, listedModels } from './listed.ts'

export interface UpstreamSettings {
  addresses: readonly GivenAddress[]
  /** Requests sent to it at once; the others wait here. */
  parallel: number
  /** Requests that may wait. */
  queue: number
  /** How long it may send nothing. */
  silenceMs: number
  times?: ProbeTimes
}

export interface UpstreamLog {
  info(values: object, message: string): void
  warn(values: object, message: string): void
}

/** A server of models, at one or several addresses. */
export interface UpstreamServer {
  readonly addresses: Addresses
  /** The models that it lists; undefined until it was reached, and empty if it lists none. */
  listed(): readonly ListedModel[] | undefined
  /**
   * Sends a request to the first address that accepts it. Another address is tried only until an answer begins. `done`
   * must be called when the answer is over.
   */
  ask(question: UpstreamAsk, signal: AbortSignal): Promise<{ answer: IncomingMessage; done(): void }>
  slots: Record<'callers' | 'background', Slots>
  readonly silenceMs: number
  close(): Promise<void>
}

interface UpstreamAsk {
  /** Relative to the address; with `../` next to it. */
  path: string
  body: string
  kind: UpstreamKind
  beginning: string
}

/** No error and no list of models is longer. */
const maxText = 16 * 1024 * 1024

/** Nobody waits for background work, and it shares the server with callers. */
const backgroundAtOnce = 2

export function connectServer(settings: UpstreamSettings, log: UpstreamLog): UpstreamServer {
  const { parallel, queue, silenceMs } = settings
  const connections = openConnections()
  const placeOf = createPlaces()
  let listed: readonly ListedModel[] | undefined
  const addresses = watchAddresses(settings.addresses, look, {
    ...(settings.times && { times: settings.times }),
    onChange({ url, trouble }) {
      const address = shownAddress(url)
      if (trouble === undefined) log.info({ address }, 'the server behind a model answers')
      else log.warn({ address, trouble }, 'the server behind a model does not answer')
    },
  })

  /** The headers of each request: nothing of its caller, and none of our own but the one below. */
  function headersOf({ key }: GivenAddress, kind: UpstreamKind | undefined): Record<string, string> {
    return {
      accept: 'application/json, text/event-stream',
      'user-agent': `heddle/${version}`,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      // The answer is in the record of this server.
      ...(kind === 'heddle' && { 'x-heddle-record': 'off' }),
    }
  }

  async function look(address: Address, signal: AbortSignal): Promise<void> {
    const question = { place: placeOf(address, 'models'), headers: headersOf(address, undefined), silenceMs }
    const answer = await connections.send(question, signal)
    const text = await textOf(answer, silenceMs, maxText)
    const status = answer.statusCode ?? 0
    // Some servers list no models but answer all the same.
    if (status === 404 || status === 405) listed ??= []
    else if (status === 200) listed = listedModels(text)
    else throw new Error(`it answered ${status} to GET ${shownAddress(address.url)}/models`)
  }

  async function ask(question: UpstreamAsk, signal: AbortSignal) {
    let last: Refusal | undefined
    for (const address of addresses.inOrder(question.beginning)) {
      address.running++
      let isOpen = true
      const done = () => {
        if (isOpen) address.running--
        isOpen = false
      }
      try {
        const answer = await connections.send(
          {
            place: placeOf(address, question.path),
            body: question.body,
            headers: headersOf(address, question.kind),
            silenceMs,
          },
          signal,
        )
        const status = answer.statusCode ?? 0
        if (status === 200) return { answer, done }
        const text = await textOf(answer, silenceMs, maxText)
        last = refusalOf(status, text, question.kind, answer.headers['retry-after'])
        if (!isTemporary(status)) throw last
        done()
      } catch (error) {
        done()
        if (signal.aborted) throw signal.reason
        if (error instanceof Refusal) throw error
        const trouble = error instanceof Error ? error.message : String(error)
        addresses.failed(address, trouble)
        last = refuse('upstream_unavailable', {
          why: error instanceof UnreachableError ? 'it cannot be reached' : 'it ended the connection',
        })
      }
    }
    throw last ?? refuse('upstream_unavailable', { why: 'it has no address' })
  }

  const bounds = { perTenant: Math.ceil((queue * 7) / 8), total: queue }
  return {
    addresses,
    listed: () => listed,
    ask,
    slots: {
      callers: createSlots({ shared: parallel, reserved: Math.ceil(parallel / 8) }, bounds),
      background: createSlots({ shared: backgroundAtOnce }, { perTenant: 64, total: 64 }),
    },
    silenceMs,
    async close() {
      await addresses.close()
      connections.close()
    },
  }
}

/** Caches parsed addresses; there are few paths. */
function createPlaces() {
  const known = new Map<string, UpstreamEndpoint>()
  return ({ url }: GivenAddress, path: string): UpstreamEndpoint => {
    const key = `${url}/ ${path}`
    const found = known.get(key) ?? endpointOfUrl(new URL(path, `${url}/`))
    known.set(key, found)
    return found
  }
}

/** The address without what may be a secret. */
export function shownAddress(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
