import { createSlots, type Slots } from '../../threads/slots.ts'
import { version } from '../../version.ts'
import type { UpstreamLoad } from '../model.ts'
import {
  type Address,
  type Addresses,
  type GivenAddress,
  type ProbeTimes,
  watchAddresses,
} from './addresses.ts'
import { type Ask, createAsk, type ResentReason } from './asking.ts'
import { endpointOfUrl, openConnections, type UpstreamEndpoint } from './exchange.ts'
import { kindOfUrl, type UpstreamKind } from './kinds.ts'
import { type ListedModel, listedModels } from './listed.ts'
import { textOf } from './pieces.ts'
import { createResendBudgets } from './resending.ts'

/** How long a server is waited for. */
interface Patience {
  /** How long it may send nothing. */
  silenceMs: number
  /** How often its only address is asked again after the time that it named; never if absent. */
  retries?: number
}

export interface UpstreamSettings extends Patience {
  addresses: readonly GivenAddress[]
  /** Requests sent to it at once; the others wait here. */
  parallel: number
  /** Requests that may wait. */
  queue: number
  /** Detected if absent. */
  kind?: UpstreamKind
  times?: ProbeTimes
}

export interface UpstreamLog {
  info(values: object, message: string): void
  warn(values: object, message: string): void
}

/** A server of models, at one or several addresses. */
export interface UpstreamServer {
  readonly addresses: Addresses
  /** If it is known without asking. */
  readonly kind: UpstreamKind | undefined
  /** The models that it lists; undefined until it was reached, and empty if it lists none. */
  listed(): readonly ListedModel[] | undefined
  readonly load: UpstreamLoad
  ask: Ask
  slots: Record<'callers' | 'background', Slots>
  readonly silenceMs: number
  /** The same server, for a model that it is waited for differently. */
  withPatience(patience: Partial<Patience>): UpstreamServer
  close(): Promise<void>
}

/** In bytes; no list of models is longer. */
const maxList = 16 * 1024 * 1024

/** Of the requests that are sent at once: nobody waits for background work, and it shares the server with callers. */
const backgroundShare = 1 / 8
const minBackground = 2

export function connectServer(settings: UpstreamSettings, log: UpstreamLog): UpstreamServer {
  const { parallel, queue, silenceMs } = settings
  const connections = openConnections()
  const placeOf = createPlaces()
  const kind = settings.kind ?? settings.addresses.map(({ url }) => kindOfUrl(url)).find((known) => known)
  let listed: readonly ListedModel[] | undefined
  const addresses = watchAddresses(settings.addresses, look, {
    ...(settings.times && { times: settings.times }),
    onChange({ shown: address, fault }) {
      if (fault === undefined) log.info({ address }, 'the server behind a model answers')
      else log.warn({ address, fault }, 'the upstream of a model does not answer')
    },
  })

  /** The headers of each request: nothing of its caller but the trace, and none of our own but the one below. */
  function headersOf({ key }: GivenAddress, kind: UpstreamKind | undefined): Record<string, string> {
    return {
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': `heddle/${version}`,
      ...(key !== undefined && keyHeader(key, kind)),
      ...(kind === 'anthropic' && { 'anthropic-version': '2023-06-01' }),
      // The answer is in the record of this server.
      ...(kind === 'heddle' && { 'x-heddle-record': 'off' }),
    }
  }

  async function look(address: Address, signal: AbortSignal): Promise<void> {
    const isAnthropic = (kind ?? listed?.[0]?.kind) === 'anthropic'
    const question = {
      // Its pages have 20 models otherwise.
      target: placeOf(address, isAnthropic ? 'models?limit=1000' : 'models'),
      headers: headersOf(address, isAnthropic ? 'anthropic' : undefined),
      silenceMs,
    }
    const answer = await connections.send(question, signal)
    const text = await textOf(answer, silenceMs, maxList)
    const status = answer.statusCode ?? 0
    // Some servers list no models but answer all the same.
    if (status === 404 || status === 405) listed ??= []
    else if (status === 200) listed = listedModels(text)
    else throw new Error(`it answered ${status} to GET ${address.shown}/models`)
  }

  const resent: Counts = {}
  const withheld: Counts = {}
  const budgetOf = createResendBudgets()
  const askWith = ({ silenceMs, retries = 0 }: Patience): Ask =>
    createAsk({
      addresses,
      silenceMs,
      retries,
      budgetOf,
      resent: (reason) => count(resent, reason),
      withheld: (reason) => count(withheld, reason),
      send: (address, { path, body, kind, traceparent }, signal, resent) => {
        const headers = { ...headersOf(address, kind), ...(traceparent && { traceparent }) }
        return connections.send({ target: placeOf(address, path), body, headers, silenceMs }, signal, resent)
      },
    })
  const bounds = { perTenant: Math.ceil((queue * 7) / 8), total: queue }
  const server: UpstreamServer = {
    addresses,
    kind,
    listed: () => listed,
    load: { addresses: addresses.all, resent, withheld },
    ask: askWith(settings),
    slots: {
      callers: createSlots({ shared: parallel, reserved: Math.ceil(parallel / 8) }, bounds),
      background: createSlots(
        { shared: Math.max(minBackground, Math.floor(parallel * backgroundShare)) },
        { perTenant: 64, total: 64 },
      ),
    },
    silenceMs,
    withPatience(own) {
      const patience = { ...settings, ...own }
      return { ...server, silenceMs: patience.silenceMs, ask: askWith(patience) }
    },
    async close() {
      await addresses.close()
      connections.close()
    },
  }
  return server
}

type Counts = Partial<Record<ResentReason, number>>

function count(counts: Counts, reason: ResentReason): void {
  counts[reason] = (counts[reason] ?? 0) + 1
}

const keyHeader = (key: string, kind: UpstreamKind | undefined): Record<string, string> =>
  kind === 'anthropic' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }

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
