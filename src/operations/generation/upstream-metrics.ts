import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { UpstreamLoad } from '../../inference/model.ts'
import type { Models } from '../../inference/registry.ts'

/** What became of the requests to servers elsewhere. There are as many labels as addresses in the settings. */
export function registerUpstreams(registers: Registry[], models: Models): void {
  // Several models may be on one server.
  const loads = () =>
    new Set(models.all.flatMap(({ upstream }): UpstreamLoad[] => (upstream ? [upstream] : [])))
  const addresses = () => [...loads()].flatMap((load) => load.addresses)
  new Gauge({
    name: 'heddle_upstream_up',
    help: '1 while the address of a server behind a model answers.',
    labelNames: ['address'] as const,
    registers,
    collect() {
      this.reset()
      for (const { shown, fault } of addresses()) this.set({ address: shown }, fault === undefined ? 1 : 0)
    },
  })
  new Counter({
    name: 'heddle_upstream_requests_total',
    help: 'Requests sent to an address of a server behind a model: answered, refused, busy (429), failed (408, 5xx), timeout, closed (without an answer), unreachable.',
    labelNames: ['address', 'outcome'] as const,
    registers,
    collect() {
      this.reset()
      for (const { shown, counts } of addresses())
        for (const [outcome, count] of Object.entries(counts)) this.inc({ address: shown, outcome }, count)
    },
  })
  const countByReason = (name: string, help: string, counted: 'resent' | 'withheld') =>
    new Counter({
      name,
      help,
      labelNames: ['reason'] as const,
      registers,
      collect() {
        this.reset()
        for (const load of loads())
          for (const [reason, count] of Object.entries(load[counted])) this.inc({ reason }, count)
      },
    })
  countByReason(
    'heddle_upstream_resent_total',
    'Requests sent again, by the reason: stale (the idle connection was closed before anything was sent), or the outcome at the address before.',
    'resent',
  )
  countByReason(
    'heddle_upstream_resends_withheld_total',
    'Requests not sent again because too many had been in the last ten seconds, by the outcome before.',
    'withheld',
  )
}
