import { BlockList, isIP, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { TrustedProxies } from '../config.ts'

/** Whether the address, this many hops in front of this server, is a proxy whose X-Forwarded-For is trusted. */
export type TrustCheck = (address: string, hop: number) => boolean

export function createTrustCheck(proxies: TrustedProxies): TrustCheck {
  if (typeof proxies === 'number') return (_address, hop) => hop < proxies
  const trusted = new BlockList()
  for (const { address, prefix } of proxies) trusted.addSubnet(address, prefix, familyOf(address))
  return (address) => isIP(address) !== 0 && trusted.check(address, familyOf(address))
}

/**
 * The origin of a request, as far as clients can be told apart. Undefined behind a proxy that does not forward
 * addresses, where all would have the same one.
 */
export function originOf(request: FastifyRequest, trusts: TrustCheck): string | undefined {
  const peer = request.socket.remoteAddress
  if (peer === undefined) return undefined
  const address = trusts(peer, 0) ? request.ip : peer
  if (isIP(address) === 0 || (address === peer && trusts(peer, 0))) return undefined
  return networkOf(address)
}

/** A site has a whole /64 of IPv6 (RFC 6177), and may use any address in it. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = (address.split('%', 1)[0] as string).split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) groups.push('0', '0', '0', '0')
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
