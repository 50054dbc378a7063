/** The op of a judge's own call. */
export const judgeOp = 'heddle.judge'

/** The op of the answer that a shadow gave, which no client has seen. */
export const shadowOp = 'heddle.shadow'

/** The op of a call that asked for proposals for a prompt. */
export const proposalOp = 'heddle.proposals'

/** Of a turn of which this server has several answers. They are below it, and it has no texts. */
export const turnOp = 'heddle.turn'

/** Turns that log records of coding agents tell of. */
export const toldTurnOps: readonly string[] = ['claude_code.turn', 'codex.turn']

/** No monitor scores these calls: one judgement would lead to the next, and turns have no texts. */
export const unjudgedOps: readonly string[] = [judgeOp, shadowOp, proposalOp, turnOp]
