/** A field of a chat completion, as its contract has it. */
export interface RequestField {
  name: string
  /** `texts` is a list of texts; `json` is anything else that is not a single value. */
  kind: 'boolean' | 'number' | 'text' | 'choice' | 'texts' | 'json'
  /** Its type and range in words. */
  range: string
  says: string
  /** The value that applies where it is absent, as JSON. */
  initial?: string
  /** The values of a choice; a `json` field may accept some as well. */
  choices?: readonly string[]
  effect: 'honoured' | 'partly' | 'none' | 'refused'
}
