/** The op of a judge's own call. No monitor scores these calls, because one judgement would lead to the next. */
export const judgeOp = 'heddle.judge'
