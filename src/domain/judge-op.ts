/** The op of a judge's own call. No monitor looks at its calls, or one judgement would lead to the next. */
export const judgeOp = 'heddle.judge'
