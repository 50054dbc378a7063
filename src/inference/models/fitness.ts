import type { GgufHeader } from './gguf-header.ts'
import { ModelTrouble } from './trouble.ts'

/** Refuses a file that is a GGUF but no model that writes text. `named` is how messages call it. */
export function checkFitness(named: string, header: GgufHeader): void {
  const { architecture, type, tokenizer, vocabulary, parts, causal, context, parameters } = header
  const refused = (why: string, accepted = 'a model that writes text') =>
    new ModelTrouble(`${named} cannot be served: ${why}; accepted: ${accepted}.`)
  if (parts > 1) {
    throw refused(
      `it is one of ${parts} files of a split model`,
      'models in one file (llama-gguf-split --merge)',
    )
  }
  if (architecture === 'clip' || (type !== undefined && type !== 'model')) {
    throw refused(`it is of the kind ${JSON.stringify(type ?? architecture)}`)
  }
  if (!causal) throw refused(`its architecture ${architecture} reads text and writes none`)
  if (tokenizer === undefined || tokenizer === 'none' || vocabulary === 0) {
    throw refused('it has no tokenizer', 'files with the tokenizer in their metadata')
  }
  if (context < 1 || parameters < 1) throw refused('it has no weights, or does not say its context length')
}
