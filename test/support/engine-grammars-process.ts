// Asks the engine's own grammars, in a process of its own: the engine may end it.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import type { GrammarQuestion } from './engine-grammars.ts'

interface Binding {
  AddonGrammar: new (
    gbnf: string,
    options: { addonExports: Binding; rootRuleName: string },
  ) => { isTextCompatible(text: string): boolean }
}

const llama = await getLlama({
  gpu: false,
  build: 'never',
  progressLogs: false,
  skipDownload: true,
  logLevel: LlamaLogLevel.disabled,
})
const binding: Binding = Reflect.get(llama, '_bindings')

process.on('message', ({ gbnf, texts }: GrammarQuestion) => {
  process.send?.(answer(gbnf, texts))
})
process.send?.('ready')

function answer(gbnf: string, texts: readonly string[]): readonly boolean[] | null {
  let grammar: InstanceType<Binding['AddonGrammar']>
  try {
    grammar = new binding.AddonGrammar(gbnf, { addonExports: binding, rootRuleName: 'root' })
  } catch {
    return null
  }
  return texts.map((text) => grammar.isTextCompatible(text))
}
