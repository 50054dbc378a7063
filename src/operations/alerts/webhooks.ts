import { isIP } from 'node:net'
import type { Registry } from '@prometheus-io/client'
import type { Network } from '../../config.ts'
import { createMeters } from '../../http/metrics.ts'
import type { Outcome } from '../../storage/alerts/deliveries.ts'
import { createSlots, type Slots } from '../../threads/slots.ts'
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
  /** Who looks up a name holds one of these. */
  lookups: Slots
  metrics: AlertMetrics
}

interface AlertMetrics {
  tried(outcome: Outcome): void
  /** Of all projects. */
  waiting(deliveries: number): void
}

/**
 * A lookup of the machine cannot be interrupted, and takes one of the few threads that all lookups, also those of
 * upstream models and of PostgreSQL, share with the files. Alerts take two, of an entity one.
 */
const lookupSlots = { shared: 1, reserved: 1 }
/** More than there are messages on their way. */
const maxLookups = { perTenant: 256, total: 1_024 }

export function createWebhooks(
  allowed: readonly Network[],
  registry: Registry,
  options: Partial<WebhookOptions> = {},
): Webhooks {
  const check = createAddressCheck(allowed)
  return {
    allowsPrivate: allowed.length > 0,
    check,
    kindOfLiteral: (host) => (isIP(host) === 0 ? undefined : check(host)),
    options,
    lookups: createSlots(lookupSlots, maxLookups),
    metrics: registerAlertMetrics(registry),
  }
}

const outcomes = ['sent', 'failed', 'dead'] as const

function registerAlertMetrics(registry: Registry): AlertMetrics {
  const { counter, gauge } = createMeters(registry)
  const tries = counter(
    'alert_deliveries_total',
    'Messages to alert endpoints: sent, failed (tried again later), dead (given up).',
    'outcome',
  )
  for (const outcome of outcomes) tries.inc({ outcome }, 0)
  const waiting = gauge(
    'alert_deliveries_waiting',
    'Messages of the record that are not sent yet, up to 100000; counted every 15 seconds.',
  )
  return {
    tried(outcome) {
      if (outcome.kind === 'returned') return
      const isDead = outcome.kind === 'refused' || (outcome.kind === 'failed' && outcome.next_at === null)
      tries.inc({ outcome: outcome.kind === 'sent' ? 'sent' : isDead ? 'dead' : 'failed' })
    },
    waiting: (deliveries) => waiting.set(deliveries),
  }
}
