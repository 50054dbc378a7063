import type { CallFormat } from '../call-format.ts'

/**
 * `NAME(key='value', count=1)` is found as tagged arguments with a quote as a mark. The template may not escape the
 * quote, but a model that writes Python does.
 */
export function asPython(format: CallFormat): CallFormat {
  const { arguments: form, mid } = format
  if (form.kind !== 'tagged' || mid.at(-1) !== '(') return format
  const { string, ...others } = form.values
  const isKeyword = Object.values(others).every(
    ({ before, mid: sign, after }) => before === '' && sign === '=' && after === '',
  )
  const quote = string.mid.slice(1)
  const isQuoted = quote === string.after && ['', "'", '"'].includes(quote)
  if (!isKeyword || !isQuoted || string.before !== '' || form.between.trim() !== ',') return format
  const isBare = format.open.length === 1 && /^\s*\[?\s*$/.test(String(format.open[0]))
  return {
    ...format,
    arguments: { kind: 'python', words: 'python' },
    isAnchored: format.isAnchored || isBare,
  }
}
