/** What these tests use of a package that has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'
  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    on(event: string, listener: () => void): this
  }
}
