import { textsAreTexts } from '../../support/hostile-requests.ts'

textsAreTexts(async () => undefined)
