import { type GgufHeader, type ModelPlan, quantizationOf } from '../../packages/engine/index.ts'

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
