/** Names from earlier answers, by the member that had them, so that a later request can use them. */
export interface KnownNames {
  learn(answer: unknown): void
  /** The text with known names filled in for their placeholders. */
  filled(text: string, write: (name: string) => string): string
}

const mostKept = 100

export function createKnownNames(): KnownNames {
  const byMember = new Map<string, string[]>()

  function keep(member: string, text: string): void {
    const kept = byMember.get(member) ?? []
    if (kept.includes(text)) return
    kept.push(text)
    if (kept.length > mostKept) kept.shift()
    byMember.set(member, kept)
  }

  function learn(value: unknown, member = 'id'): void {
    if (typeof value === 'string') {
      if (value !== '' && value.length <= 200) keep(member, value)
    } else if (Array.isArray(value)) {
      for (const item of value.slice(0, 20)) learn(item, member)
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value).slice(0, 50)) learn(inner, name)
    }
  }

  /** `queue_ids` are named `id` in the answer that created the queue. */
  function keptFor(member: string): string[] {
    const one = member.replace(/s$/, '')
    const names = [member, one, one.replace(/_id$|_digest$/, ''), one.replace(/^.*_(?=id$|digest$)/, '')]
    return names.flatMap((name) => byMember.get(name) ?? [])
  }

  return {
    learn,
    filled: (text, write) =>
      text.replace(/@known:(\w+):(\d+)@/g, (_, member: string, n: string) => {
        const kept = keptFor(member)
        return write(kept.at(-1 - (Number(n) % Math.max(kept.length, 1))) ?? 'unknown')
      }),
  }
}
