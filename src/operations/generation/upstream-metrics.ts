import type { Meters } from '../../http/metrics.ts'
import type { UpstreamLoad } from '../../inference/model.ts'
import type { Models } from '../../inference/registry.ts'

/** What became of the requests to servers elsewhere. There are as many labels as addresses in the settings. */
export function registerUpstreams({ readGauge, readCounter }: Meters, models: Models): void {
  // Several models may be on one server.
  const loads = () => [
    ...new Set(models.all.flatMap(({ upstream }): UpstreamLoad[] => (upstream ? [upstream] : []))),
  ]
  const addresses = () => loads().flatMap((load) => load.addresses)
  readGauge('upstream_up', '1 while the address of a server behind a model answers.', ['address'], () =>
    addresses().map(({ shown, fault }) => [{ address: shown }, fault === undefined ? 1 : 0]),
  )
  readCounter(
    'upstream_requests_total',
    'Requests sent to an address of a server behind a model: answered, refused, busy (429), failed (408, 5xx), timeout, closed (without an answer), unreachable.',
    ['address', 'outcome'],
    () =>
      addresses().flatMap(({ shown, counts }) =>
        Object.entries(counts).map(([outcome, count]) => [{ address: shown, outcome }, count] as const),
      ),
  )
  const countByReason = (name: string, help: string, counted: 'resent' | 'withheld') =>
    readCounter(name, help, ['reason'], () =>
      loads().flatMap((load) =>
        Object.entries(load[counted]).map(([reason, count]) => [{ reason }, count] as const),
      ),
    )
  countByReason(
    'upstream_resent_total',
    'Requests sent again, by the reason: stale (the idle connection was closed before anything was sent), or the outcome at the address before.',
    'resent',
  )
  countByReason(
    'upstream_resends_withheld_total',
    'Requests not sent again because too many had been in the last ten seconds, by the outcome before.',
    'withheld',
  )
}
