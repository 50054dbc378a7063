import { textsAreBounded, textsAreTexts } from './hostile-requests.ts'

textsAreTexts(async () => undefined)
textsAreBounded(async () => undefined)
