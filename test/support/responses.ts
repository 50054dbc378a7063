import assert from 'node:assert/strict'

export const responsesUrl = '/v1/responses'

/** The shortest body that is answered. */
export const asking = (fields: Record<string, unknown> = {}) => ({ input: 'Hi', ...fields })

// biome-ignore lint/suspicious/noExplicitAny: events are compared, never trusted
export type Event = { type: string; sequence_number: number } & Record<string, any>

/** Reads a stream as strictly as its standard allows: each event has its type twice, and the last one marks the end. */
export function eventsOf(text: string): Event[] {
  const end = 'data: [DONE]\n\n'
  assert.ok(text.endsWith(end), `the stream ends with ${JSON.stringify(text.slice(-60))}`)
  const events: Event[] = []
  for (const block of text.slice(0, -end.length).split('\n\n').slice(0, -1)) {
    if (block.startsWith(':')) continue
    const [name = '', data = '', ...rest] = block.split('\n')
    assert.deepEqual(rest, [], block)
    assert.ok(name.startsWith('event: ') && data.startsWith('data: '), block)
    const event = JSON.parse(data.slice('data: '.length)) as Event
    assert.equal(name, `event: ${event.type}`)
    events.push(event)
  }
  return events
}

interface Open {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  item: any
  /** Texts by their kind, while they are open. */
  texts: Map<string, string>
  done: Set<string>
}

const kinds: Record<string, { part: string; text: string; index: string; partType: string; items: string }> =
  {
    'response.output_text': {
      part: 'response.content_part',
      text: 'text',
      index: 'content_index',
      partType: 'output_text',
      items: 'message',
    },
    'response.reasoning_text': {
      part: 'response.content_part',
      text: 'text',
      index: 'content_index',
      partType: 'reasoning_text',
      items: 'reasoning',
    },
    'response.reasoning_summary_text': {
      part: 'response.reasoning_summary_part',
      text: 'text',
      index: 'summary_index',
      partType: 'summary_text',
      items: 'reasoning',
    },
  }

/**
 * What a client makes of the events, as strict as the strictest of them: every number in its order, every item and part
 * begun before it grows and ended once, nothing unknown, and the same at the end as on the way.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function responseOf(events: readonly Event[]): any {
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
    'each event has the next number',
  )
  const [created, inProgress, ...rest] = events
  const last = rest.pop()
  assert.equal(created?.type, 'response.created')
  assert.equal(inProgress?.type, 'response.in_progress')
  assert.deepEqual(inProgress?.response, created?.response)
  assert.equal(created?.response.status, 'in_progress')
  assert.deepEqual(created?.response.output, [])
  const items = new Map<number, Open>()
  const ended: unknown[] = []
  let open: number | undefined

  for (const event of rest) {
    const { type, output_index: index } = event
    const at = `${type} ${event.sequence_number}`
    assert.ok(Number.isInteger(index) && index >= 0, at)
    if (type === 'response.output_item.added') {
      assert.equal(open, undefined, `${at}: the item before has not ended`)
      assert.equal(index, items.size, at)
      const { item } = event
      assert.match(item.id, /^(msg|rs|fc)_./)
      assert.equal(item.status, 'in_progress')
      if (item.type === 'message') assert.deepEqual([item.role, item.content], ['assistant', []])
      else if (item.type === 'reasoning') assert.deepEqual([item.summary, item.content], [[], []])
      else {
        assert.equal(item.type, 'function_call', at)
        assert.equal(item.arguments, '')
        assert.ok(item.call_id && item.name && item.call_id !== item.id)
      }
      items.set(index, { item, texts: new Map(), done: new Set() })
      open = index
      continue
    }
    const current = items.get(index)
    assert.ok(current !== undefined && open === index, `${at}: no such item is open`)
    const { item, texts, done } = current
    if (type === 'response.output_item.done') {
      assert.equal(event.item.id, item.id)
      assert.notEqual(event.item.status, 'in_progress')
      for (const kind of texts.keys()) assert.ok(done.has(kind), `${at}: ${kind} has not ended`)
      const wanted = {
        message: () => event.item.content.map((part: { text: string }) => part.text),
        reasoning: () => event.item.content.map((part: { text: string }) => part.text),
        function_call: () => [event.item.arguments],
      }[item.type as 'message']()
      assert.deepEqual(wanted, [[...texts.values()][0] ?? ''], at)
      ended[index] = event.item
      open = undefined
      continue
    }
    assert.equal(event.item_id, item.id, at)
    if (type.startsWith('response.function_call_arguments.')) {
      assert.equal(item.type, 'function_call', at)
      const text = texts.get('arguments') ?? ''
      assert.ok(!done.has('arguments'), at)
      if (type.endsWith('.delta')) texts.set('arguments', text + event.delta)
      else {
        assert.ok(type.endsWith('.done'), at)
        assert.deepEqual([event.arguments, event.name], [text, item.name], at)
        texts.set('arguments', text)
        done.add('arguments')
      }
      continue
    }
    const [, name = '', step] = /^(.*)\.(added|delta|done)$/.exec(type) ?? []
    const part = Object.entries(kinds).find(
      ([, kind]) => kind.part === name && kind.partType === event.part?.type,
    )
    const [kindName, kind] = part ?? [name, kinds[name]]
    assert.ok(kind !== undefined, `${at} is not known`)
    assert.equal(item.type, kind.items, at)
    assert.equal(event[kind.index], 0, at)
    if (part !== undefined && step === 'added') {
      assert.ok(!texts.has(kindName), at)
      assert.equal(event.part.text, '')
      texts.set(kindName, '')
    } else if (part !== undefined) {
      assert.equal(event.part.text, texts.get(kindName), at)
      done.add(kindName)
    } else {
      assert.ok(texts.has(kindName) && !done.has(kindName), `${at}: its part is not open`)
      if (step === 'delta') {
        assert.ok(event.delta.length > 0, at)
        texts.set(kindName, texts.get(kindName) + event.delta)
      } else assert.equal(event.text, texts.get(kindName), at)
    }
  }

  const response = last?.response
  assert.equal(last?.type, `response.${response?.status}`)
  for (const name of ['id', 'created_at', 'model', 'tools', 'metadata', 'instructions']) {
    assert.deepEqual(response[name], created?.response[name], name)
  }
  if (response.status === 'completed') assert.equal(open, undefined, 'an item has not ended')
  if (response.status !== 'failed') assert.equal(response.output.length, items.size)
  for (const [index, item] of ended.entries()) {
    if (item !== undefined) assert.deepEqual(response.output[index], item)
  }
  return response
}
