import { itemsOf, membersOf } from '../../../packages/json/index.ts'

/** A JSON value that is read step by step and keeps the digits as stored. What was parsed once is not parsed again. */
export class Value {
  readonly text: string
  #members: Map<string, Value> | undefined
  #items: Value[] | undefined

  constructor(text: string) {
    this.text = text
  }

  member(name: string): Value | undefined {
    if (!this.text.startsWith('{')) return undefined
    this.#members ??= new Map([...membersOf(this.text)].map(([key, text]) => [key, new Value(text)]))
    return this.#members.get(name)
  }

  item(index: number): Value | undefined {
    if (!this.text.startsWith('[')) return undefined
    this.#items ??= itemsOf(this.text).map((text) => new Value(text))
    return this.#items[index]
  }

  get string(): string | undefined {
    return this.text.startsWith('"') ? (JSON.parse(this.text) as string) : undefined
  }
}
