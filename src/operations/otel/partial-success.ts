/** What was left out of a request whose other spans were taken. */
export interface PartialSuccess {
  rejectedSpans: number
  errorMessage: string
}

/** More messages than this help nobody. */
const mostMessages = 20

export class Rejections {
  #count = 0
  readonly #messages: string[] = []

  add(message: string): void {
    this.#count++
    if (this.#messages.length < mostMessages) this.#messages.push(message)
  }

  get result(): PartialSuccess {
    return { rejectedSpans: this.#count, errorMessage: this.#messages.join('; ') }
  }
}
