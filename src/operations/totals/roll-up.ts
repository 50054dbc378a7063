import { inSteps } from '../../../packages/waiting/index.ts'

/** What a model used, or what several calls used of it. */
export interface ModelUsage {
  requests: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  cache_read_input_tokens: number
  cache_creation_input_tokens: number
  /** Null without a price. */
  prompt_tokens_total_cost: number | null
  completion_tokens_total_cost: number | null
  cache_read_input_tokens_total_cost: number | null
  cache_creation_input_tokens_total_cost: number | null
  /** What clients say of models without a price. */
  stated_total_cost: number | null
}

/** By model. */
export type Usage = ReadonlyMap<string, ModelUsage>

export interface UsedCall {
  id: string
  parentId: string | null
  own: Usage
  /** It asks a model itself, so what runs below it used tokens besides it. */
  asksModel: boolean
}

interface Node extends UsedCall {
  /** Children that are not added up yet. */
  pending: number
  /** What those that are added up used together; a child's own map while there is only one. */
  below: Map<string, ModelUsage>
  isShared: boolean
  /** A child has the same counts. */
  isRepeated: boolean
  total: Usage
}

/**
 * What each call used together with the calls below it, from the leaves on. Agents and wrappers repeat what the calls
 * below them used, so the greater of both counts, unless the call asks a model itself. Each call of a circle has what
 * all of them used. `checkEntries` is called with the number of models of all sums so far: in a hostile trace each call
 * may have as many as there are calls.
 */
export async function rollUp(
  calls: Iterable<UsedCall>,
  checkEntries: (entries: number) => void,
): Promise<Map<string, Usage>> {
  const nodes = new Map<string, Node>()
  await inSteps(calls, (call) => {
    const sums = { pending: 0, below: new Map(), isShared: true, isRepeated: false, total: call.own }
    nodes.set(call.id, { ...call, ...sums })
  })
  const parentOf = ({ id, parentId }: Node) =>
    parentId === null || parentId === id ? undefined : nodes.get(parentId)
  await inSteps(nodes.values(), (node) => {
    const parent = parentOf(node)
    if (parent) parent.pending++
  })
  let entries = 0
  const left = new Set(nodes.values())
  const ready = [...left].filter(({ pending }) => pending === 0)
  const addUp = (node: Node) => {
    node.total = totalOf(node)
    if (!node.isShared || node.total !== node.below) entries += node.total.size
    checkEntries(entries)
    const parent = parentOf(node)
    if (parent !== undefined) addChild(parent, node)
    return parent
  }
  await inSteps(whileAny(ready), (node) => {
    left.delete(node)
    const parent = addUp(node)
    if (parent && --parent.pending === 0) ready.push(parent)
  })
  // No call is above a circle: each of its calls has its only parent there.
  await inSteps(left, (node) => {
    const circle: Node[] = []
    for (let next: Node | undefined = node; next && left.delete(next); next = parentOf(next))
      circle.push(next)
    const sum = new Map<string, ModelUsage>()
    for (const member of circle) addInto(sum, totalOf(member))
    for (const member of circle) member.total = sum
    entries += sum.size
    checkEntries(entries)
  })
  return new Map(Iterator.from(nodes).map(([id, { total }]) => [id, total]))
}

function* whileAny(ready: Node[]): Generator<Node> {
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) yield node
}

function addChild(node: Node, child: Node): void {
  node.isRepeated ||= isSame(child.own, node.own)
  if (child.total.size === 0) return
  if (node.below.size === 0) {
    node.below = child.total as Map<string, ModelUsage>
    return
  }
  if (node.isShared) node.below = new Map(node.below)
  node.isShared = false
  addInto(node.below, child.total)
}

function totalOf({ own, below, asksModel, isRepeated }: Node): Usage {
  if (own.size === 0) return below
  if (below.size === 0) return own
  if (!asksModel || isRepeated) return tokensIn(own) > tokensIn(below) ? own : below
  const sum = new Map(own)
  addInto(sum, below)
  return sum
}

function addInto(sum: Map<string, ModelUsage>, usage: Usage): void {
  for (const [model, used] of usage) {
    const known = sum.get(model)
    sum.set(model, known === undefined ? used : plus(known, used))
  }
}

function plus(a: ModelUsage, b: ModelUsage): ModelUsage {
  const sum = { ...a }
  for (const name of Object.keys(sum) as (keyof ModelUsage)[]) {
    const [x, y] = [a[name], b[name]]
    Object.assign(sum, { [name]: x === null ? y : x + (y ?? 0) })
  }
  return sum
}

const tokensOf = ({ prompt_tokens, completion_tokens }: ModelUsage) => prompt_tokens + completion_tokens

const tokensIn = (usage: Usage) => usage.values().reduce((sum, used) => sum + tokensOf(used), 0)

/** Wrappers may name the model differently. */
function isSame(a: Usage, b: Usage): boolean {
  const counts = (usage: Usage, name: 'prompt_tokens' | 'completion_tokens') =>
    usage.values().reduce((sum, used) => sum + used[name], 0)
  return (['prompt_tokens', 'completion_tokens'] as const).every(
    (name) => counts(a, name) === counts(b, name),
  )
}
