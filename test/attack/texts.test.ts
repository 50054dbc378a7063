import { textsAreBounded, textsAreTexts } from '../support/hostile-requests.ts'

textsAreTexts(async () => undefined)
textsAreBounded(async () => undefined)
