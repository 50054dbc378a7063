/** A field of a chat completion, as its contract has it. */
export interface RequestField {
  name: string
  /** `texts` is a list of texts; `json` is anything else that is not a single value. */
  kind: 'boolean' | 'number' | 'text' | 'choice' | 'texts' | 'json'
  /** Its type and range in words. */
  range: string
  says: string
  /** What holds where it is absent, as JSON. */
  initial?: string
  /** Of a choice; one of `json` may be one of these as well. */
  choices?: readonly string[]
  effect: 'honoured' | 'partly' | 'none' | 'refused'
}
