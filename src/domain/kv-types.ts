/** The number types in which sequences may store the keys and values of each token, as llama.cpp names them. */
export const kvTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0'] as const

/** As a setting may give it. */
export const kvChoices = [...kvTypes, 'auto'] as const
