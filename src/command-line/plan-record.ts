import type { GgufHeader } from '../inference/models/gguf-header.ts'
import type { ModelPlan } from '../inference/models/plan.ts'
import { quantizationOf } from '../inference/models/tensor-types.ts'

/** How a file would be run, as `model list` shows it. */
export function planRecord(plan: ModelPlan, header: GgufHeader) {
  return {
    bytes: header.fileBytes,
    architecture: header.architecture,
    parameters: header.parameters,
    quantization: quantizationOf(header.fileType) ?? null,
    trained_context: header.context,
    context: plan.context,
    parallel: plan.parallel,
    threads: plan.threads,
    device: plan.device,
  }
}
