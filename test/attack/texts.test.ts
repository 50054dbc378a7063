import { aQuarterFrom, placesTakeTexts, textsAreBounded, textsAreTexts } from './hostile-requests.ts'

placesTakeTexts(async () => undefined, aQuarterFrom(0))
textsAreTexts(async () => undefined)
textsAreBounded(async () => undefined)
