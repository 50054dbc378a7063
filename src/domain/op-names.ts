/** The name of an op, out of `weave:///acme/qa/op/answer:4f5…` or as it stands. */
export function opNameOf(op: string): string {
  const start = op.includes(':///') ? op.indexOf('/op/') : -1
  if (start === -1) return op
  const tail = op.slice(start + 4)
  const end = tail.indexOf(':')
  return end === -1 ? tail : tail.slice(0, end)
}
