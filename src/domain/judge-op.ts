/** The op of a judge's own call. */
export const judgeOp = 'heddle.judge'

/** The op of the answer that a shadow gave, which no client has seen. */
export const shadowOp = 'heddle.shadow'

/** The op of a call that asked for proposals for a prompt. */
export const proposalOp = 'heddle.proposals'

/** No monitor scores these calls, because one judgement would lead to the next. */
export const unjudgedOps: readonly string[] = [judgeOp, shadowOp, proposalOp]
