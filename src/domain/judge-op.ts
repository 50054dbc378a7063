/** The op of a judge's own call. */
export const judgeOp = 'heddle.judge'

/** The op of the answer that a shadow gave, which no client has seen. */
export const shadowOp = 'heddle.shadow'

/** No monitor scores these calls, because one judgement would lead to the next. */
export const unjudgedOps: readonly string[] = [judgeOp, shadowOp]
