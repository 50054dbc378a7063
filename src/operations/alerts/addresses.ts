import { BlockList, isIPv6 } from 'node:net'
import type { Network } from '../../config.ts'

/** Special-purpose addresses of RFC 6890 and its kin, multicast, and what embeds addresses of IPv4. */
const special = {
  ipv4: [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
    ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
    ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ],
  // Global is 2000::/3 alone. What embeds an address of IPv4 is in ::/3 or 2002::/16.
  ipv6: ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

function listOf(networks: readonly Network[]): BlockList {
  const list = new BlockList()
  for (const { address, prefix } of networks) list.addSubnet(address, prefix, familyOf(address))
  return list
}

export type AddressKind = 'public' | 'allowed' | 'forbidden'

/**
 * What an address is to this server: a user must not make it send requests into its own network. `allowed` is what the
 * operator has named.
 */
export function createAddressCheck(allowed: readonly Network[]): (address: string) => AddressKind {
  const own = listOf(allowed)
  const read = (networks: readonly string[]) =>
    listOf(
      networks.map((network) => {
        const [address = '', prefix] = network.split('/')
        return { address, prefix: Number(prefix) }
      }),
    )
  // Two lists, because in one of IPv6 every address of IPv4 is in ::/3, as ::ffff:0:0/96.
  const forbidden = { ipv4: read(special.ipv4), ipv6: read(special.ipv6) }
  return (address) => {
    const plain = unmapped(address)
    const family = familyOf(plain)
    if (own.check(plain, family)) return 'allowed'
    return forbidden[family].check(plain, family) ? 'forbidden' : 'public'
  }
}

/** An address of IPv4 in the clothes of IPv6 (RFC 4291, 2.5.5.2), in whatever spelling. */
function unmapped(address: string): string {
  if (!isIPv6(address)) return address
  // Without the zone, which a URL cannot have; the rest becomes the canonical spelling.
  const plain = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(plain) ?? []
  if (high === undefined || low === undefined) return plain
  const bits = (Number.parseInt(high, 16) * 0x10000 + Number.parseInt(low, 16)) >>> 0
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.')
}
