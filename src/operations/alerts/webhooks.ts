import { isIP } from 'node:net'
import type { Network } from '../../config.ts'
import { type AddressKind, createAddressCheck } from './addresses.ts'

export interface WebhookOptions {
  /** How names become addresses, if not as the machine does it. */
  lookup: (host: string) => Promise<{ address: string; family: number }[]>
  timeoutMs: number
  /** Divides the pauses between tries, and between the windows that are decided. */
  haste: number
}

/** What the operator has set about messages to the outside. */
export interface Webhooks {
  /** Whether any address of a private network may be named. */
  allowsPrivate: boolean
  check(address: string): AddressKind
  /** Of a host that is an address; undefined for a name, which is checked whenever something is sent. */
  kindOfLiteral(host: string): AddressKind | undefined
  options: Partial<WebhookOptions>
}

export function createWebhooks(allowed: readonly Network[], options: Partial<WebhookOptions> = {}): Webhooks {
  const check = createAddressCheck(allowed)
  return {
    allowsPrivate: allowed.length > 0,
    check,
    kindOfLiteral: (host) => (isIP(host) === 0 ? undefined : check(host)),
    options,
  }
}
