import type { CallFormat } from './call-format.ts'

/**
 * How small models write a call whatever their template shows: as bare JSON, in a fence, or in a tag with the name. They are read
 * at the very start of what is said, with the name of an offered tool, and nowhere else.
 */
export function secondSpellings({ open, arguments: given }: CallFormat): CallFormat[] {
  const json = { arguments: { kind: 'json', isQuoted: false }, ids: 'any', isAnchored: true } as const
  const bare = ['arguments', 'parameters'].flatMap((key): CallFormat[] => {
    const mid = [`", "${key}": `]
    return [
      { ...json, open: ['{"name": "'], mid, gap: ['}\n{"name": "'], close: ['}'] },
      { ...json, open: ['```json\n{"name": "'], mid, gap: ['}\n{"name": "'], close: ['}\n```'] },
    ]
  })
  const tag: CallFormat =
    given.kind === 'tagged'
      ? { ...json, arguments: given, open: ['<function='], mid: ['>'], close: ['</function>'] }
      : {
          ...json,
          open: ['<function='],
          mid: ['>'],
          gap: ['</function>\n<function='],
          close: ['</function>'],
        }
  return [...bare, tag].filter((one) => open[0] !== one.open[0])
}
