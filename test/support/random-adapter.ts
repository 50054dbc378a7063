import { type GgufTensor, writeGguf } from './gguf.ts'
import { type RandomModelShape, smallShape } from './random-model.ts'

const rank = 4

export interface AdapterShape extends Pick<RandomModelShape, 'layers' | 'hidden'> {
  architecture: string
  seed: number
}

/** Writes a LoRA adapter of a random model's queries and outputs to the path, where no file may exist yet. */
export async function writeRandomAdapter(path: string, given: Partial<AdapterShape> = {}): Promise<void> {
  const { layers, hidden, architecture, seed } = { ...smallShape, architecture: 'llama', ...given }
  let state = seed
  const matrix = (name: string, columns: number, rows: number): GgufTensor => ({
    name,
    shape: [columns, rows],
    type: 'f32',
    bytes() {
      const values = Float32Array.from({ length: columns * rows }, () => {
        state += 12.9898
        return Math.sin(state) / 2
      })
      return new Uint8Array(values.buffer)
    },
  })
  const tensors = Array.from({ length: layers }, (_, layer) =>
    ['attn_q', 'attn_output'].flatMap((name) => [
      matrix(`blk.${layer}.${name}.weight.lora_a`, hidden, rank),
      matrix(`blk.${layer}.${name}.weight.lora_b`, rank, hidden),
    ]),
  )
  const metadata = {
    'general.architecture': { text: architecture },
    'general.type': { text: 'adapter' },
    'adapter.type': { text: 'lora' },
    'adapter.lora.alpha': { f32: rank * 4 },
  }
  await writeGguf(path, metadata, tensors.flat())
}
