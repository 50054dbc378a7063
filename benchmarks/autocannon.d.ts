/** The part of autocannon that is used here; the package comes without types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events'

  export interface Client {
    /** The number of requests after which the client stops, and how many it has made. Not documented: see load.ts. */
    responseMax: number
    reqsMade: number
  }

  export interface Request {
    path: string
    body: string
    /** Called for each request. The context belongs to the connection, and is new whenever the list of requests starts over. */
    setupRequest?(request: Request, context: Record<string, unknown>): Request
  }

  export interface Options {
    url: string
    method: 'POST'
    headers: Record<string, string>
    requests: Request[]
    connections: number
    duration: number
    maxConnectionRequests: number
    sampleInt: number
    setupClient(client: Client): void
  }

  export interface Result {
    non2xx: number
    errors: number
    timeouts: number
    '2xx': number
    statusCodeStats: Record<string, { count: number }>
  }

  export interface Run extends EventEmitter, Promise<Result> {
    on(
      event: 'response',
      seen: (client: Client, status: number, bytes: number, milliseconds: number) => void,
    ): this
  }

  export default function autocannon(options: Options): Run
}
